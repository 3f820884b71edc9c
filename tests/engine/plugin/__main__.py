"""The plugin with the test kinds in its registry."""

import runpy

from components.plugin import registry

registry.KINDS["rack:test:Thing"] = "tests.factories.kinds:Thing"
registry.KINDS["rack:test:Slow"] = "tests.factories.kinds:Slow"
runpy.run_module("components.plugin.__main__", run_name="__main__")
