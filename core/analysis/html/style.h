// The page's style sheet: light and dark by what the reader's system prefers, one column on a phone.
#pragma once

namespace ptrain::html {

inline constexpr const char* kStyle = R"css(
:root{color-scheme:light dark;--page:#f9f9f7;--card:#fcfcfb;--ink:#0b0b0b;--soft:#52514e;--mute:#898781;--grid:#e1e0d9;
--edge:#0b0b0b1a;--c0:#2a78d6;--c1:#008300;--c2:#e87ba4;--c3:#eda100;--c4:#1baf7a;--c5:#eb6834;--c6:#4a3aa7;--c7:#e34948}
@media(prefers-color-scheme:dark){:root{--page:#0d0d0d;--card:#1a1a19;--ink:#fff;--soft:#c3c2b7;--mute:#898781;
--grid:#2c2c2a;--edge:#ffffff1a;--c0:#3987e5;--c1:#008300;--c2:#d55181;--c3:#c98500;--c4:#199e70;--c5:#d95926;
--c6:#9085e9;--c7:#e66767}}
*{box-sizing:border-box}
body{margin:0;background:var(--page);color:var(--ink);font:15px/1.5 system-ui,-apple-system,"Segoe UI",sans-serif}
main{max-width:1120px;margin:0 auto;padding:20px 16px 48px}
h1{font-size:22px;margin:8px 0 2px;overflow-wrap:anywhere}
h2{font-size:15px;margin:0 0 10px;font-weight:600}
p{margin:4px 0;color:var(--soft);overflow-wrap:anywhere}
a{color:var(--c0)}
section{background:var(--card);border:1px solid var(--edge);border-radius:10px;padding:14px 16px;min-width:0}
.wide{margin:16px 0;overflow-x:auto}
.charts{display:grid;gap:16px;grid-template-columns:repeat(auto-fit,minmax(min(100%,420px),1fr));align-items:start}
table{border-collapse:collapse;width:100%;font-size:14px;font-variant-numeric:tabular-nums}
th,td{text-align:left;padding:6px 12px 6px 0;border-bottom:1px solid var(--grid);white-space:nowrap}
td:first-child{white-space:normal;overflow-wrap:anywhere;min-width:11em}
th{color:var(--soft);font-weight:600}
.n{text-align:right}
svg{display:block;width:100%;height:auto;max-width:560px;overflow:visible}
text{font:11.5px system-ui,-apple-system,"Segoe UI",sans-serif;fill:var(--ink)}
.label{fill:var(--soft)}.value{text-anchor:end}.tick{fill:var(--mute);font-size:10.5px}
.end{text-anchor:end}.middle{text-anchor:middle}
.bar{fill:var(--c0)}.whisker{stroke:var(--ink);stroke-width:1.5}.grid{stroke:var(--grid);stroke-width:1}
.line{fill:none;stroke-width:2;stroke-linejoin:round}
.s0{stroke:var(--c0)}.s1{stroke:var(--c1)}.s2{stroke:var(--c2)}.s3{stroke:var(--c3)}.s4{stroke:var(--c4)}
.s5{stroke:var(--c5)}.s6{stroke:var(--c6)}.s7{stroke:var(--c7)}
.f0{fill:var(--c0)}.f1{fill:var(--c1)}.f2{fill:var(--c2)}.f3{fill:var(--c3)}.f4{fill:var(--c4)}
.f5{fill:var(--c5)}.f6{fill:var(--c6)}.f7{fill:var(--c7)}
.legend{list-style:none;display:flex;flex-wrap:wrap;gap:4px 14px;margin:0 0 8px;padding:0;font-size:12.5px;color:var(--soft)}
.legend i{display:inline-block;width:10px;height:10px;border-radius:3px;margin-right:6px}
.c0{background:var(--c0)}.c1{background:var(--c1)}.c2{background:var(--c2)}.c3{background:var(--c3)}
.c4{background:var(--c4)}.c5{background:var(--c5)}.c6{background:var(--c6)}.c7{background:var(--c7)}
)css";

}  // namespace ptrain::html
