# SPDX-License-Identifier: Apache-2.0
"""What a terminal shows after a program has written to it. Long lines wrap, and wrap anew when it gets another width."""
import re


class Screen:
    def __init__(self, columns):
        self.columns = columns
        self.lines = [""]  # as written, before they wrap
        self.line = self.column = 0  # of the cursor
        self.begun = ""  # a sequence that is not whole

    def write(self, text):
        for part in re.findall(r"\x1b\[[?0-9;]*[A-Za-z]|\x1b\[?[?0-9;]*$|.", self.begun + text, re.S):
            self.begun = ""
            if part.startswith("\x1b") and not part[-1].isalpha():
                self.begun = part
            elif part.startswith("\x1b"):
                self._sequence(part[2:-1], part[-1])
            elif part == "\n":
                self.line += 1
                if self.line == len(self.lines):
                    self.lines.append("")
            elif part == "\r":
                self.column = 0
            else:
                now = self.lines[self.line].ljust(self.column)
                self.lines[self.line] = now[: self.column] + part + now[self.column + 1 :]
                self.column += 1

    def text(self):
        return "\n".join(self.lines)

    def _sequence(self, number, what):
        if what == "A":
            self._up(int(number or 1))
        elif what == "J":
            del self.lines[self.line + 1 :]
            self.lines[self.line] = self.lines[self.line][: self.column]
        elif what != "m":
            raise ValueError(f"the sequence {number}{what} is not known here")

    def _up(self, rows):
        heights = [max(1, -(-len(line) // self.columns)) for line in self.lines]
        target = max(0, sum(heights[: self.line]) + self.column // self.columns - rows)
        self.line = 0
        while target >= heights[self.line]:
            target -= heights[self.line]
            self.line += 1
        self.column = self.column % self.columns + target * self.columns
