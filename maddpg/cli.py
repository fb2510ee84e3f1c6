"""The two commands: training and evaluation. What a user got wrong is one line on stderr and exit code 2."""

from __future__ import annotations

import dataclasses
import re
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import tyro
from tyro.conf import arg

from maddpg.algorithms import find
from maddpg.config import MaddpgConfig, RunConfig
from maddpg.errors import RunError, UserError
from maddpg.worlds import parse_env_args, with_split

DEFAULT_ALGORITHM = "maddpg"
# What a resumed run may be given beside the folder.
_OPEN_ON_RESUME = ("total_steps", "device", "threads", "resume")


def train_main(arguments: Sequence[str] | None = None) -> int:
    """`main.py [ALGORITHM] [options]`: trains, or goes on with --resume RUN. Returns the exit code."""
    return _guarded(_train, list(sys.argv[1:] if arguments is None else arguments))


def evaluate_main(arguments: Sequence[str] | None = None) -> int:
    """`evaluate.py [RUN] [options]`: prints a table, and writes a GIF and JSON. Returns the exit code."""
    return _guarded(_evaluate, list(sys.argv[1:] if arguments is None else arguments))


def _guarded(command: Callable[[list[str]], int], arguments: list[str]) -> int:
    try:
        return command(arguments)
    except UserError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("stopped; nothing was saved since the last checkpoint", file=sys.stderr)
        return 130


def _train(arguments: list[str]) -> int:
    algorithm = DEFAULT_ALGORITHM
    if arguments and not arguments[0].startswith("-"):
        algorithm = arguments.pop(0)
    config = parse_config(algorithm, arguments)
    from maddpg.curves import draw
    from maddpg.runs import Run, refuse_existing
    from maddpg.train import Interrupted, Trainer

    if config.resume is not None:
        trainer = Trainer.resume(Run.open(config.resume), dataclasses.replace(config, resume=None))
    else:
        if config.out is not None:
            refuse_existing(Path(config.out))
        trainer = Trainer(config, algorithm)
    try:
        run = trainer.run()
    except Interrupted as stop:
        folder = trainer.folder
        draw([folder], folder.path / "curves.png")
        print(f"stopped at step {trainer.step:,}; checkpoint saved. Go on with:")
        print(f"  python main.py {algorithm} --resume {folder.path}")
        return stop.code
    draw([run], run.path / "curves.png")
    print(f"{trainer.step:,} steps in {trainer.seconds:.0f} s; {run.path / 'curves.png'} has the curves. Try:")
    print(f"  python evaluate.py {run.path} --gif {run.path / 'episode.gif'}")
    return 0


def parse_config(algorithm: str, arguments: list[str]) -> RunConfig:
    """Options of a training command: those given, else of the run to resume, else of the preset. Raises UserError."""
    about = find(algorithm)
    default = about.config()
    if (preset := _peek(arguments, "preset")) is not None and preset in about.config.presets:
        default = about.config.from_preset(preset)
    resume = _peek(arguments, "resume")
    if resume is not None:
        from maddpg.runs import Run

        run = Run.open(resume)
        if run.algorithm != algorithm:
            raise RunError(f"run {resume!r} was trained by {run.algorithm}: use main.py {run.algorithm} --resume")
        default = run.config
    others = " and ".join(f"--preset {name}" for name in about.config.presets if name != "default")
    config = tyro.cli(
        about.config,
        args=_whole_numbers(arguments),
        default=default,
        prog=f"main.py {algorithm}",
        description=f"Trains {about.title} on a PettingZoo game. {others} shows other defaults here.",
    )
    if resume is not None:
        for field in dataclasses.fields(config):
            old, new = getattr(default, field.name), getattr(config, field.name)
            if old != new and field.name not in _OPEN_ON_RESUME:
                option = "--" + field.name.replace("_", "-")
                raise RunError(f"{option} {_text(new)} cannot be changed by --resume: the run has {_text(old)}")
    return config.validated()


@dataclass(frozen=True)
class EvaluateOptions:
    """Plays whole episodes with policies side by side and prints what they earn (undiscounted, no shaping).
    Without RUN and --policy: the policy that comes with the package."""

    run: Annotated[str | None, tyro.conf.Positional, arg(metavar="[RUN]")] = None
    """A run folder, one of its checkpoints, or a .safetensors policy."""
    policy: Annotated[tuple[str, ...], tyro.conf.UseAppendAction, arg(metavar="NAME")] = ()
    """random, a scripted policy, or as RUN; a:b:c gives roles (or agents) in order their own, a,b:c,d every
    combination. Repeat it to compare."""
    list_policies: bool = False
    """List the scripted policies of each role of the game, and play nothing."""
    env: Annotated[str | None, arg(metavar="ID")] = None
    """The game; default is that of the run."""
    env_args: Annotated[tuple[str, ...], arg(metavar="KEY=VALUE ...")] = ()
    """Constructor arguments of the game as key=value; they win over those of the run."""
    split: Annotated[str | None, arg(metavar="NAME")] = None
    """Which private states are drawn, in games that have splits: test (the default), train or all."""
    episodes: int = 1000
    """Episodes for each policy, the same ones for all."""
    seed: int = 1_000_000_007
    """Seed of the episodes; the default is that of the evaluations during training."""
    stochastic: bool = False
    """Sample actions from trained policies instead of taking the best one."""
    max_cycles: Annotated[int | None, arg(metavar="INT")] = None
    """Length of an episode; default is that of the training."""
    gif: Annotated[str | None, arg(metavar="PATH")] = None
    """Write an episode of the first policy as GIF here."""
    gif_episodes: int = 1
    """Episodes in the GIF."""
    json: Annotated[str | None, arg(metavar="PATH")] = None
    """Write all numbers as JSON here."""
    export: Annotated[str | None, arg(metavar="PATH")] = None
    """Write the networks that act, of the run, as a .safetensors policy here."""


def _evaluate(arguments: list[str]) -> int:
    options = tyro.cli(EvaluateOptions, args=_whole_numbers(arguments), prog="evaluate.py")
    for name in ("episodes", "gif_episodes", "max_cycles"):
        if (value := getattr(options, name)) is not None and value < 1:
            raise UserError(f"{name}={value} must be at least 1")
    if not 0 <= options.seed < 2**63:
        raise UserError(f"seed={options.seed} must be in 0 .. 2**63 - 1")
    from rich.console import Console

    from maddpg import gif, table
    from maddpg.evaluate import Evaluation, Request, beside, combinations, describe_policies, shipped_policy
    from maddpg.players import Trained
    from maddpg.runs import write_json

    targets = {name: _target(name, value) for name in ("gif", "json", "export") if (value := getattr(options, name))}
    if "gif" in targets:
        gif.check_path(targets["gif"])
    env_args, env, loaded = parse_env_args(options.env_args), options.env, {}
    if options.list_policies:
        for role, meanings in describe_policies(env or MaddpgConfig.env, env_args).items():
            print(f"{role}:")
            for name, meaning in meanings.items():
                print(f"  {name:<20} {meaning}")
        return 0
    subject = options.run
    if subject is None and not options.policy:
        subject = str(shipped_policy(env or MaddpgConfig.env))
    policies = options.policy
    if subject is not None:
        trained = loaded[subject] = Trained(subject)
        args = trained.env_args if env in (None, trained.env) else {}
        env = env or trained.env
        # What a policy was trained on says nothing about what it is tested on.
        env_args = {**{k: v for k, v in args.items() if k != "split"}, **env_args}
        policies = (subject, *policies) if policies else beside(subject, env, env_args)
        if "export" in targets:
            trained.export(targets["export"])
    elif "export" in targets:
        raise UserError("export needs a RUN to write the policy of")
    env = env or MaddpgConfig.env
    env_args = with_split(env, env_args, options.split, "test")
    request = Request(policies, env, env_args, options.episodes, options.seed, options.stochastic, options.max_cycles)
    evaluation, console = Evaluation(request, loaded), Console(highlight=False)
    with console.status("playing") as status:
        report = evaluation.run(lambda done, total: status.update(f"playing policy {done + 1} of {total}"))
    table.show(report, console)
    if "json" in targets:
        write_json(targets["json"], report.to_dict())
    if "gif" in targets:
        frames = gif.record(evaluation, combinations(policies[0])[0], targets["gif"], options.gif_episodes)
        print(f"{targets['gif']}: {frames} frames")
    return 0


def _target(name: str, value: str) -> Path:
    path = Path(value)
    if path.is_dir():
        raise UserError(f"{name}={value!r} is a folder; name a file")
    if not path.parent.is_dir():
        raise UserError(f"{name}={value!r}: there is no folder {str(path.parent)!r}")
    return path


def _peek(arguments: Sequence[str], option: str) -> str | None:
    """The value of an option that decides what the defaults of the others are."""
    for place, here in enumerate(arguments):
        if here == f"--{option}":
            return arguments[place + 1] if place + 1 < len(arguments) else None
        if here.startswith(f"--{option}="):
            return here.partition("=")[2]
    return None


def _whole_numbers(arguments: Sequence[str]) -> list[str]:
    """1e6 after an option as 1000000: counts are whole numbers, and people write them so."""

    def whole(text: str) -> str:
        if re.fullmatch(r"\d+(\.\d+)?[eE]\+?\d+", text) and float(text).is_integer():
            return str(int(float(text)))
        return text

    return [f"{a[: a.index('=') + 1]}{whole(a[a.index('=') + 1 :])}" if "=" in a else whole(a) for a in arguments]


def _text(value: object) -> str:
    return " ".join(map(str, value)) if isinstance(value, tuple) else str(value)
