# SPDX-License-Identifier: Apache-2.0
"""Switches wrong lines on, one at a time, and sees whether the tests notice.

usage: run.py [--seed N] [--count N] [--at-least PERCENT] [--jobs N] [--only LIST] [--show]
              <suite> <build folder> [<word in a rule or file>]

A suite is a row of suites.py, core say. Its mutants are those of its list (LIST `chosen`), and --count made
by generate.py of --seed (LIST `generated`). All are compiled once, each behind a switch, and linked with the objects of the
build folder to the suite's programs; these then run once per mutant, with what may notice it. --only judges one list.

The exit code is 1 if a chosen one survives that has no `equivalent`, the reason why nothing can notice it, and if fewer of
the generated ones are killed than --at-least says; those in equivalent.json are not counted. The build folder must hold the
programs as they are now; what is made lies in its folder `mutants/<suite>`. --show prints what the survivors change.
"""

import argparse
import collections
import concurrent.futures
import os
import pathlib
import sys
import time

import build
import judge
import suites


def arguments():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=120, help="generated mutants")
    parser.add_argument("--at-least", type=int, default=100, metavar="PERCENT")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--only", choices=("chosen", "generated"))
    parser.add_argument("--show", action="store_true")
    parser.add_argument("suite", choices=suites.SUITES)
    parser.add_argument("build", type=lambda text: pathlib.Path(text).resolve())
    parser.add_argument("word", nargs="?", default="")
    return parser.parse_args()


def main():
    options = arguments()
    suite = suites.SUITES[options.suite]
    chosen = suites.chosen_mutants(suite)
    # Some do not compile behind a switch: a few more are made, and the first that do are taken.
    spare = suites.generated_mutants(suite, options.seed, options.count * 5 // 4) if suite.folders else []
    start = time.monotonic()
    # With all of them, whatever is asked for: what was compiled the last time is not compiled again.
    built = build.Build(options.build, options.suite, suite, chosen + spare, options.jobs)
    programs = built.make()
    lists = {"chosen": chosen, "generated": [m for m in spare if m.fits][:options.count]}
    mutants = [m for name, some in lists.items() if options.only in (None, name) for m in some
               if options.word in m.rule + m.file]
    print(f"built after {time.monotonic() - start:.0f} s", flush=True)
    judged = judge.judge_of(suite, programs, built.scratch)
    print(f"{judged.summary()}, after {time.monotonic() - start:.0f} s", flush=True)
    killed, survived, equivalent = collections.Counter(), collections.Counter(), 0
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        for m, killer in zip(mutants, pool.map(judged, mutants)):
            if killer:
                verdict = f"killed by {killer}"
                killed[m.generated] += 1
            elif m.equivalent:
                verdict = f"changes nothing: {m.equivalent}"
                equivalent += 1
            else:
                verdict = "SURVIVED" if judged.is_reached(m) else "SURVIVED, no test comes there"
                survived[m.generated] += 1
            if killer and m.equivalent:
                verdict += "; it is no equivalent"
                survived[m.generated] += 1
            print(f"{m.rule}\n    {m.file}: {verdict}", flush=True)
            if options.show and not killer and not m.equivalent:
                print(f"    for: {m.old.strip()}\n    now: {m.new.strip()}", flush=True)
    judged.remember()
    print(f"chosen: {killed[False]} killed, {survived[False]} survived; generated: {killed[True]} killed, "
          f"{survived[True]} survived; {equivalent} equivalent ({time.monotonic() - start:.0f} s)")
    enough = killed[True] * 100 >= (killed[True] + survived[True]) * options.at_least
    return 0 if enough and not survived[False] else 1


if __name__ == "__main__":
    sys.exit(main())
