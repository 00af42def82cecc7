"""`make soak`: exactly-once, end to end. `python -m tools.soak [--rounds N] [--seed S] [--first N] [--program P]`.

Programs that consume, transform and produce in transactions, one with confluent-kafka and one with Apache's Java
client, are killed with -9 at random, and so is the broker. In the end every input must be in the output once, in its
key's order, and the group's offsets at the end of the input. One line a round; a round that fails keeps its
directories, and is named by the command that runs it again.
"""

import argparse
import random
import sys
from collections import defaultdict

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table
from tests.interop.apache.jars import ApacheMissing, fetch_jars
from tests.soak.plan import Plan, Program, plan
from tests.soak.processes import Node, Place, Programs, SoakFailed
from tests.soak.round import Outcome, Round


class Soak:
    """All rounds on one broker, whose directory lives as long as they do; after a failure, on a new one."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self.outcomes: dict[Program, list[Outcome]] = defaultdict(list)
        self.failed: list[Plan] = []
        self._begin()

    def _begin(self) -> None:
        self._directory = Place()
        self._node = Node(self._directory.path)
        self._programs = Programs(self._directory.path)
        self._node.start()

    def run(self, each: Plan) -> None:
        label = f"[dim]{each.number:>4}[/] {each}"
        try:
            outcome = Round(each, self._node, self._programs, self._directory.path).run()
        except Exception as error:  # noqa: BLE001 - whatever it is, the soak goes on and the round is kept
            self._console.print(f"[bold red]FAILED[/] {label}", soft_wrap=True)
            self._report(each, error)
            self._begin()
            return
        self.outcomes[each.program].append(outcome)
        facts = f"{outcome.seconds:4.1f} s, {outcome.commits} commits, {outcome.aborts} aborts"
        self._console.print(f"[green]ok[/] {label} [cyan]{facts}", soft_wrap=True)

    def end(self) -> None:
        self._node.stop()
        self._directory.remove()

    def give_up(self) -> None:
        self._node.kill()

    def _report(self, each: Plan, error: Exception) -> None:
        self.failed.append(each)
        self._node.kill()
        again = f"python -m tools.soak --seed {each.seed} --first {each.number} --rounds 1 --program {each.program}"
        self._console.print(f"  {type(error).__name__}: {error}", style="red", markup=False, soft_wrap=True)
        self._console.print(f"  kept: {self._directory.path}", markup=False, soft_wrap=True)
        self._console.print(f"  again: {again}", markup=False, soft_wrap=True)


def table(soak: Soak) -> Table:
    columns = ("program", "rounds", "failed", "commits", "aborts", "restarts", "seconds a round")
    made = Table(*columns, title="exactly once")
    for program in Program:
        outcomes = soak.outcomes[program]
        failed = sum(each.program is program for each in soak.failed)
        if not outcomes and not failed:
            continue
        seconds = sum(each.seconds for each in outcomes) / max(1, len(outcomes))
        numbers = [sum(getattr(each, name) for each in outcomes) for name in ("commits", "aborts", "ended")]
        verdict = f"[bold red]{failed}[/]" if failed else "[green]0[/]"
        row = (f"[bold]{program}", f"{len(outcomes) + failed}", verdict, *map(str, numbers), f"{seconds:.1f}")
        made.add_row(*row)
    return made


def programs(wanted: str | None, console: Console) -> list[Program]:
    if wanted is not None:
        return [Program(wanted)]
    try:
        fetch_jars()
    except ApacheMissing as missing:
        console.print(f"[yellow]without Java: {missing}")
        return [Program.CONFLUENT]
    return list(Program)


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m tools.soak", description="Exactly-once under kill -9.")
    parser.add_argument("--rounds", type=int, default=200, help="how many (%(default)s)")
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(10**6), help="(another each time)")
    parser.add_argument("--first", type=int, default=0, help="the number of the first (%(default)s)")
    parser.add_argument("--program", choices=list(Program), help="only this one")
    options = parser.parse_args(arguments)
    console = Console()
    chosen = programs(options.program, console)
    console.print(f"seed {options.seed}: {options.rounds} rounds from {options.first} with {' and '.join(chosen)}")
    columns = (TextColumn("rounds"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    soak = Soak(console)
    try:
        with Progress(*columns, console=console) as progress:
            task = progress.add_task("rounds", total=options.rounds)
            for number in range(options.first, options.first + options.rounds):
                soak.run(plan(options.seed, number, chosen[number % len(chosen)]))
                progress.advance(task)
        soak.end()
    except SoakFailed as error:
        console.print(f"[bold red]{error}")
        return 1
    finally:
        soak.give_up()
        console.print(table(soak))
    return 1 if soak.failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
