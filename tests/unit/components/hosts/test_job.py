"""What stays of a run: nothing of a good one, nothing secret of a failed one."""

import json
from pathlib import Path

from components.hosts.job import Job

QUOTED = 'pass"word\\'


def _job(folder: Path) -> Job:
    private, artefacts = folder / "private", folder / "artefacts"
    private.mkdir()
    (artefacts / "artifacts" / "run").mkdir(parents=True)
    return Job(1, "serve", "/p.yml", str(private), str(artefacts), ["a"], [QUOTED], 1.0, None, [])


def test_a_job_is_read_as_it_was_written(tmp_path: Path) -> None:
    job = _job(tmp_path)
    job.write(tmp_path / "job.json")
    assert Job.read(tmp_path / "job.json") == job


def test_a_failed_run_is_kept_without_secrets_and_environment(tmp_path: Path) -> None:
    job = _job(tmp_path)
    run = tmp_path / "artefacts" / "artifacts" / "run"
    (run / "command").write_text("{}")
    (run / "stdout").write_text(f"said {QUOTED} and {json.dumps(QUOTED)}")
    (run / "event.json").write_text(json.dumps({"out": json.dumps([QUOTED])}))
    job.tidy(keep=True)
    assert (run / "stdout").read_text() == 'said [secret] and "[secret]"'
    assert json.loads((run / "event.json").read_text()) == {"out": '["[secret]"]'}
    assert not (run / "command").exists()
    assert not (tmp_path / "private").exists()


def test_a_good_run_leaves_nothing(tmp_path: Path) -> None:
    _job(tmp_path).tidy(keep=False)
    assert list(tmp_path.iterdir()) == []
