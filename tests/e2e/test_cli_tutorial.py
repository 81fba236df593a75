"""What docs/tutorial.md shows is what its commands show."""

from __future__ import annotations

from tests.support.tutorial import PAGE, Replay, console_blocks, environment_of, steps_of


def test_every_command_of_the_tutorial_shows_what_the_page_says(cli_service, tmp_path):
    replay = Replay({**environment_of(cli_service.target, tmp_path), "CONCORD_PROJECT": "tutorial"})
    steps = [step for block in console_blocks(PAGE.read_text()) for step in steps_of(block)]
    assert len(steps) > 10
    for step in steps:
        shown = replay.run(step).comparable
        assert shown == step.comparable, f"after: {step.command} (python -m tests.support.tutorial writes it anew)"
