"""Pygame stays out of everyone else's way, and windows come, show every state and go."""

import os
import shutil
import struct
import subprocess
import textwrap

import numpy as np
import pytest

from mpe_ext import simple_tag_while_c_v0 as tag

HEAD = "import sys\nfrom mpe_ext import simple_tag_while_c_v0 as tag\n"


@pytest.fixture
def run(python):
    """Run a script in a fresh process without a display, unless `variables` give one."""
    none = dict.fromkeys(("DISPLAY", "WAYLAND_DISPLAY", "SDL_VIDEODRIVER", "PYGAME_HIDE_SUPPORT_PROMPT"))
    return lambda script, **variables: python(HEAD + textwrap.dedent(script), **(none | variables))


# Pygame stays out of the way ------------------------------------------------------------------------------------


def test_no_pygame_without_render_mode(run):
    run("""
        env = tag.parallel_env()
        env.reset(seed=1)
        while env.agents:
            env.step({agent: 1 for agent in env.agents})
        env.close()
        assert "pygame" not in sys.modules
    """)


def test_rgb_array_needs_no_display_and_starts_no_device(run):
    out = run("""
        env = tag.parallel_env(render_mode="rgb_array")
        env.reset(seed=1)
        assert "pygame" not in sys.modules, "before the first drawing"
        assert env.render().std() > 5
        env.close()
        import pygame
        assert not pygame.display.get_init()
        assert pygame.mixer.get_init() is None
        assert not pygame.joystick.get_init()
        assert not pygame.get_init()
    """)
    assert out == ""  # pygame's greeting would spoil what programs print


def test_other_users_of_pygame_may_end_it(run):
    run("""
        import pygame
        env = tag.parallel_env(render_mode="rgb_array")
        env.reset(seed=1)
        first = env.render()
        pygame.init()
        env.step({agent: 1 for agent in env.agents})
        env.render()
        pygame.quit()
        pygame.init()
        env.step({agent: 1 for agent in env.agents})
        assert env.render().std() > 5
        pygame.quit()
        env.reset(seed=1)
        assert (env.render() == first).all()
        pygame.init()
        env.close()
        assert pygame.font.get_init() and pygame.display.get_init(), "close() ends only what is its own"
    """, SDL_VIDEODRIVER="dummy")  # fmt: skip


# Windows --------------------------------------------------------------------------------------------------------

WATCH = """
from mpe_ext.engine.canvas import Canvas
shown = []
show = Canvas.show
def watched(canvas, fps):
    show(canvas, fps)
    shown.append(canvas.frame())
Canvas.show = watched
"""


def test_human_mode_draws_every_state_also_the_last(run):
    script = WATCH + textwrap.dedent("""
        import time
        human, still = tag.parallel_env(render_mode="human"), tag.parallel_env(render_mode="rgb_array")
        human.reset(seed=3), still.reset(seed=3)
        frames = [still.render()]
        begin = time.perf_counter()
        while still.agents:
            actions = {agent: 1 for agent in still.agents}
            human.step(actions), still.step(actions)
            frames.append(still.render())
        seconds = time.perf_counter() - begin
        assert human.render() is None
        assert len(shown) == len(frames) + 1 == 27
        assert all((a == b).all() for a, b in zip(shown, frames + frames[-1:], strict=True))
        assert seconds > 0.9 * 25 / human.metadata["render_fps"], seconds
    """)
    run(script, SDL_VIDEODRIVER="dummy")


def test_closed_windows_do_not_stop_the_environment(run):
    run("""
        import pygame
        from mpe_ext.engine.canvas import Canvas
        one, other = (tag.parallel_env(render_mode="human") for _ in range(2))
        def both():
            for env in (one, other):
                env.step({agent: 1 for agent in env.agents})
        one.reset(seed=1), other.reset(seed=2)
        both()
        assert len(Canvas._shown) == 2
        pygame.event.post(pygame.event.Event(pygame.KEYDOWN, key=pygame.K_a))
        pygame.event.post(pygame.event.Event(pygame.WINDOWCLOSE, window=one._canvas._window))
        both()
        assert list(Canvas._shown) == [other._canvas], "only the one whose cross was clicked"
        assert pygame.event.get(pygame.KEYDOWN), "keys stay for whoever plays by hand"
        both()
        pygame.event.post(pygame.event.Event(pygame.QUIT))
        both(), both()
        assert not Canvas._shown
        assert one.render() is None
        one.close(), one.close()
        one.render()
        assert len(Canvas._shown) == 1, "after close() rendering opens a window again"
        other.close()
        one.render()
        one.close()
        assert not Canvas._shown
        assert pygame.display.get_init()
    """, SDL_VIDEODRIVER="dummy")  # fmt: skip


def test_window_survives_the_end_of_the_display(run):
    run("""
        import pygame
        env = tag.parallel_env(render_mode="human")
        env.reset(seed=1)
        for end in (pygame.quit, pygame.display.quit, lambda: (pygame.quit(), pygame.init())):
            env.step({agent: 1 for agent in env.agents})
            end()
            env.step({agent: 1 for agent in env.agents})
        pygame.quit()
        env.close()
        env.render()
        env.close()
    """, SDL_VIDEODRIVER="dummy")  # fmt: skip


def test_human_mode_says_when_there_is_no_display(run):
    run("""
        import warnings
        env = tag.parallel_env(render_mode="human")
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            try:
                env.reset(seed=1)
            except Exception as error:  # where pygame has no invisible driver to fall back to
                assert type(error).__module__.startswith("pygame"), error
            else:
                assert any("no display" in str(warning.message) for warning in caught)
    """)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
def test_a_window_leaves_sigterm_alone(run):
    """SDL would turn it into an event that nobody reads: pools forked afterwards hang when they end."""
    run("""
        import os, signal, time, warnings
        warnings.simplefilter("ignore")  # there is no display
        child = os.fork()
        if child == 0:
            env = tag.parallel_env(render_mode="human")
            env.reset(seed=1)
            os.kill(os.getpid(), signal.SIGTERM)
            time.sleep(5)
            os._exit(0)
        _, status = os.waitpid(child, 0)
        assert os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGTERM, status
    """)


@pytest.mark.skipif(shutil.which("Xvfb") is None, reason="no Xvfb")
def test_window_on_a_real_screen(run, tmp_path):
    read, write = os.pipe()
    command = f"Xvfb -displayfd {write} -screen 0 800x760x24 -nolisten tcp -fbdir".split()
    server = subprocess.Popen([*command, str(tmp_path)], pass_fds=[write], stderr=subprocess.DEVNULL)
    try:
        os.close(write)
        with os.fdopen(read) as pipe:
            display = pipe.readline().strip()
        assert display, "Xvfb did not start"
        run(f"""
            import pygame, time
            env = tag.parallel_env(render_mode="human")
            env.reset(seed=1)
            env.step({{agent: 1 for agent in env.agents}})
            assert pygame.display.get_driver() == "x11"
            assert pygame.mixer.get_init() is None
            time.sleep(0.2)
            screen = open({str(tmp_path / "Xvfb_screen0")!r}, "rb").read()
            open({str(tmp_path / "seen")!r}, "wb").write(screen)
            env.close()
        """, DISPLAY=f":{display}")  # fmt: skip
    finally:
        server.terminate()
        server.wait()
    seen, expected = _screen((tmp_path / "seen").read_bytes()), tag.parallel_env(render_mode="rgb_array")
    expected.reset(seed=1)
    expected.step(dict.fromkeys(expected.agents, 1))
    frame = expected.render()
    places = [
        (y, x)
        for y in range(seen.shape[0] - 699)
        for x in range(seen.shape[1] - 699)
        if (seen[y : y + 700 : 50, x : x + 700 : 50] == frame[::50, ::50]).all()
    ]
    assert any((seen[y : y + 700, x : x + 700] == frame).all() for y, x in places)


def _screen(dump):
    """The pixels of an X window dump of 32-bit pixels, uint8[height, width, 3]."""
    header = struct.unpack(">25I", dump[:100])
    start, width, height, line, colours = header[0] + header[19] * 12, header[4], header[5], header[12], header[19]
    assert header[11] == 32 and colours >= 0
    rows = np.frombuffer(dump, np.uint8, line * height, start).reshape(height, line)
    pixels = rows[:, : 4 * width].reshape(height, width, 4)
    return pixels[..., 2::-1] if header[7] == 0 else pixels[..., 1:4]
