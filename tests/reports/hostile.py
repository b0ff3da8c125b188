"""A report whose texts are what a model may print at its worst."""

from linattn_verify.checks.result import Verdict
from linattn_verify.reports.document import Report
from tests.reports.conftest import Made, lone, worst

TEXT = (
    "a|b ]]> </script><script>alert(1)</script> ::error::x,y:z 100% \x1b[31m\x00\x0b\ufffe"
    " `code` [link](http://evil.example) www.evil.example ![i](//e) <b>&amp;</b> *s* _u_ ~~d~~"
    " $x$\\\r\n::warning::second line\u2028\x85漢字"
)


def hostile_report() -> Report:
    """One FAIL whose message and worst token are TEXT, and a note of it."""
    answer = lone("prefix-cache", "warm", Verdict.FAIL, TEXT)
    told = answer.model_copy(update={"worst": (worst(TEXT, 7),)})
    return Made(results=(told,), notes=(TEXT,)).report()
