"""The JSON schema of a whole stack file, for editors: `python -m stacks.config.schema`."""

import json
import sys
from typing import Any

from stacks.config.fleet import FleetConfig
from stacks.config.parse import KEY


def stack_file_schema() -> dict[str, Any]:
    """Return the schema of `stacks/Pulumi.<stack>.yaml`: our fleet beside the keys that are Pulumi's own."""
    fleet = FleetConfig.model_json_schema(ref_template="#/definitions/{model}")
    return {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "title": "Rackstack stack file",
        "type": "object",
        "required": ["config"],
        "additionalProperties": False,
        "properties": {
            "config": {
                "type": "object",
                "required": [KEY],
                "properties": {KEY: {"$ref": "#/definitions/FleetConfig"}},
            },
            "encryptionsalt": {"type": "string"},
            "encryptedkey": {"type": "string"},
            "secretsprovider": {"type": "string"},
            "environment": {},
        },
        "definitions": {**fleet.pop("$defs"), "FleetConfig": fleet},
    }


def main() -> None:
    """Print the schema as it is committed in `stacks/fleet.schema.json`."""
    sys.stdout.write(json.dumps(stack_file_schema(), indent=2) + "\n")


if __name__ == "__main__":
    main()
