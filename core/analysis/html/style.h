// The page's style sheet: light or dark as the reader's system prefers, light on paper, one column on a phone.
#pragma once

#include "core/analysis/html/drawing.h"

#include <fmt/format.h>

#include <string>

namespace ptrain::html {

inline constexpr const char* page_style = R"css(
*{box-sizing:border-box}
body{margin:0;background:var(--page);color:var(--text);font:15px/1.5 system-ui,-apple-system,"Segoe UI",sans-serif}
main{max-width:1160px;margin:0 auto;padding:20px 16px 48px}
h1{font-size:22px;margin:8px 0 2px;overflow-wrap:anywhere}
h2{font-size:15px;margin:0 0 10px;font-weight:600;overflow-wrap:anywhere}
p{margin:4px 0;color:var(--soft);overflow-wrap:anywhere}
a{color:var(--s0)}
section{background:var(--card);border:1px solid var(--grid);border-radius:10px;padding:14px 16px;min-width:0}
.wide{margin:16px 0;overflow-x:auto}
.charts{margin:16px 0;display:grid;gap:16px;grid-template-columns:repeat(auto-fit,minmax(min(100%,340px),1fr));align-items:start}
.whole{grid-column:1/-1}
.panels{display:grid;gap:20px 28px;grid-template-columns:repeat(auto-fit,minmax(min(100%,320px),1fr))}
figure{margin:0;min-width:0}
figcaption{font-size:13px;font-weight:600;margin-bottom:6px;overflow-wrap:anywhere}
.two{grid-template-columns:repeat(auto-fit,minmax(min(100%,420px),1fr))}
.sum{font-size:17px;color:var(--text);margin:6px 0}
.note{font-size:13px}
.large{display:grid;gap:12px;grid-template-columns:repeat(auto-fit,minmax(150px,1fr));margin:14px 0}
.large b{display:block;font-size:26px;line-height:1.2;font-variant-numeric:tabular-nums;overflow-wrap:anywhere}
.large span{color:var(--soft);font-size:13px}
summary{cursor:pointer;margin:16px 0 0;color:var(--soft)}
table{border-collapse:collapse;width:100%;font-size:14px;font-variant-numeric:tabular-nums}
th,td{text-align:left;padding:6px 12px 6px 0;border-bottom:1px solid var(--grid);vertical-align:top}
td:first-child{overflow-wrap:anywhere;min-width:17em}
td img{display:block;min-width:64px;max-width:160px;max-height:160px;image-rendering:pixelated}
.n{white-space:nowrap;text-align:right}
th{color:var(--soft);font-weight:600}
th.n{white-space:normal}
svg{display:block;width:100%;height:auto;max-width:460px;font-family:Helvetica,Arial,system-ui,sans-serif}
section>svg{margin-bottom:10px}
@media screen and (max-width:640px){
main{padding:12px 10px 32px}
section{padding:12px 10px}
thead{display:none}
table,tbody,tr{display:block}
tr{padding:8px 0;border-bottom:1px solid var(--grid)}
td,td.n{display:flex;gap:12px;justify-content:space-between;border:0;padding:2px 0;text-align:right;white-space:normal}
td.none,tr.none{display:none}
td{overflow-wrap:anywhere;min-width:0}
td::before{content:attr(data-title);color:var(--soft);text-align:left;flex:0 1 auto;overflow-wrap:normal}
td:first-child{font-weight:600;text-align:left;min-width:0}
td:first-child::before{display:none}
}
@media print{
body{font-size:10pt;background:none}
main{max-width:none;padding:0}
section{border:0;padding:6px 0;background:none}
.wide{overflow:visible}
table{font-size:8pt}
td:first-child{min-width:13em}
.charts>section,figure,tr,h2{break-inside:avoid}
svg{max-width:340px}
h2{break-after:avoid}
.charts{display:block}
.panels{grid-template-columns:1fr 1fr}
}
)css";

/// Colour variables, then the rules that use them.
inline std::string style() {
  std::string light = "--page:#f6f6f3;", dark = "--page:#0d0d0d;";
  for (const InkColour& colour : ink_colours) {
    light += fmt::format("--{}:{};", colour.name, colour.light);
    dark += fmt::format("--{}:{};", colour.name, colour.dark);
  }
  return fmt::format(
      ":root{{color-scheme:light dark;{}}}\n@media screen and (prefers-color-scheme:dark){{:root{{{}}}}}\n"
      "@media print{{:root{{color-scheme:light}}}}{}",
      light, dark, page_style);
}

}  // namespace ptrain::html
