#!/usr/bin/env python3
"""launches.py SOURCE RESULT: rewrites kernel<<<grid, block, bytes, stream>>>(arguments) into a call of
emulation::launch, so that a C++ compiler takes the file."""
import sys


def kernel_begin(text, end):
    """Where the kernel's name, with its template arguments, begins that ends at `end`."""
    at, depth = end, 0
    while text[at - 1].isspace():
        at -= 1
    while at > 0:
        c = text[at - 1]
        depth += (c == '>') - (c == '<')
        if depth == 0 and not (c.isalnum() or c in '_:<'):
            break
        at -= 1
    return at


def call_end(text, begin):
    """Behind the parenthesis that closes the one at `begin`."""
    depth = 0
    for at in range(begin, len(text)):
        depth += (text[at] == '(') - (text[at] == ')')
        if depth == 0:
            return at + 1
    raise ValueError('a launch has no end')


def rewrite(text):
    result = ''
    while (at := text.find('<<<')) >= 0:
        begin, close = kernel_begin(text, at), text.index('>>>', at)
        end = call_end(text, text.index('(', close))
        kernel, arguments = text[begin:at], text[text.index('(', close) + 1:end - 1]
        result += (f'{text[:begin]}emulation::launch({text[at + 3:close]}, '
                   f'[=](const auto&... a) {{ {kernel}(a...); }}, {arguments})')
        text = text[end:]
    return result + text


if __name__ == '__main__':
    with open(sys.argv[1]) as source:
        rewritten = rewrite(source.read())
    with open(sys.argv[2], 'w') as result:
        result.write(rewritten)
