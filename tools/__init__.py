"""What prepares and measures: bootstrap, driving Pulumi, the small model, benchmarks."""
