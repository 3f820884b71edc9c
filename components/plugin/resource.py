"""How the program declares a resource of one of our kinds."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pulumi

if TYPE_CHECKING:
    from collections.abc import Mapping

    from components.plugin.kind import Kind


class Ensured(pulumi.CustomResource):
    """A resource of the plugin `rack`; its outputs are those of the kind's outputs model.

    A replacement deletes first: with the engine's default, create would adopt the old thing, which would
    then be deleted.
    """

    def __init__(
        self,
        kind: type[Kind[Any, Any]],
        name: str,
        inputs: Mapping[str, Any],
        opts: pulumi.ResourceOptions,
        seconds: float | None = None,
    ) -> None:
        """Declare it.

        Args:
            kind: The resource kind.
            name: Logical name, unique for its kind in the stack.
            inputs: The kind's inputs; values may be outputs of other resources.
            opts: Parent, dependencies and the like.
            seconds: How long a create or an update may take; the kind's own where None.
        """
        timeouts = (
            pulumi.CustomTimeouts(create=f"{seconds:.0f}s", update=f"{seconds:.0f}s") if seconds else None
        )
        ours = pulumi.ResourceOptions(delete_before_replace=True, custom_timeouts=timeouts)
        props = {**inputs, **dict.fromkeys(kind.outputs.model_fields)}
        super().__init__(kind.token, name, props, pulumi.ResourceOptions.merge(ours, opts))

    def out(self, name: str) -> pulumi.Output[Any]:
        """Return an output by name."""
        value: pulumi.Output[Any] = getattr(self, name)
        return value
