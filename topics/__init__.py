"""The topics as data: what there should be (`topics.yaml`), and the plan to get there from what there is."""
