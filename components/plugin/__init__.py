"""The provider plugin `pulumi-resource-rack`: the only code that talks to the Pulumi engine."""
