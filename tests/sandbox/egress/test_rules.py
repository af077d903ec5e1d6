"""Rules of the allow-list, and spellings of hosts."""

import pytest

from ludus.sandbox import Policy
from ludus.sandbox.egress.hosts import read_host, why_not_public
from ludus.sandbox.egress.limits import EgressLimits
from ludus.sandbox.egress.rules import EgressRule, parse_rules


@pytest.mark.parametrize(
    ("text", "host", "port"),
    [
        ("pypi.org", "pypi.org", 443),
        ("PyPI.org:80", "pypi.org", 80),
        ("*.pythonhosted.org", "*.pythonhosted.org", 443),
        ("127.0.0.1:8000", "127.0.0.1", 8000),
        ("[::1]:8000", "[::1]", 8000),
        ("[0:0::1]:8000", "[::1]", 8000),
        ("localhost:1", "localhost", 1),
    ],
)
def test_rules_are_read(text, host, port):
    rule = EgressRule.parse(text)
    assert (rule.host, rule.port) == (host, port)
    assert EgressRule.parse(str(rule)) == rule


@pytest.mark.parametrize(
    "text",
    [
        "", "*", "*.com", "*.*.org", "a.*.org", "https://pypi.org", "pypi.org/simple", "u@pypi.org",
        "pypi.org.", ".pypi.org", "pypi..org", "pypi.org:", "pypi.org:0", "pypi.org:65536",
        "pypi.org:0443", "pypi.org:+1", "pypi org", "pypi.org:443:443", "::1", "[::1]", "127.0.0.1",
        "0177.0.0.1:80", "2130706433:80", "127.1:80", "0x7f000001:80", "[fe80::1%eth0]:80",
        "*.127.0.0.1:80", "pуpi.org", "-a.org", "a" * 64 + ".org", 3, None,
    ],
)  # fmt: skip
def test_what_is_no_rule_is_refused(text):
    with pytest.raises(ValueError, match="egress has"):
        EgressRule.parse(text)


def test_matching():
    exact, below = EgressRule.parse("a.org"), EgressRule.parse("*.a.org")
    assert exact.matches("a.org", 443)
    assert not exact.matches("a.org", 80)
    assert not exact.matches("b.a.org", 443)
    assert below.matches("b.a.org", 443)
    assert below.matches("c.b.a.org", 443)
    for other in ("a.org", "ba.org", "xa.org", "b.a.org.evil.net"):
        assert not below.matches(other, 443)


def test_a_policy_checks_its_list_and_has_a_private_network():
    policy = Policy(egress=["PyPI.org", "pypi.org:443"])
    assert policy.egress == ("pypi.org:443",)
    assert policy.network == "loopback"
    assert Policy().egress == ()
    assert Policy().network == "none"
    for wrong in ("pypi.org", [1], ["http://x"]):
        with pytest.raises(ValueError, match=r"Policy\.egress"):
            Policy(egress=wrong)
    with pytest.raises(ValueError, match="'host'"):
        Policy(egress=["a.org"], network="host")
    with pytest.raises(ValueError, match="at most 256"):
        parse_rules(f"h{i}.org" for i in range(300))


@pytest.mark.parametrize(
    "values", [{"connections": 0}, {"up": 1.5}, {"seconds": -1}, {"down": True}, {"head": "3"}]
)
def test_limits_are_positive(values):
    with pytest.raises(ValueError, match="EgressLimits"):
        EgressLimits(**values)


@pytest.mark.parametrize(
    "address",
    [
        "127.0.0.1", "127.8.8.8", "10.0.0.1", "172.16.0.1", "192.168.1.1", "169.254.169.254",
        "100.64.0.1", "100.100.100.200", "0.0.0.0", "224.0.0.1", "255.255.255.255", "240.0.0.1",
        "168.63.129.16", "192.0.2.1", "::", "::1", "fe80::1", "fe80::1%eth0", "fc00::1",
        "fd00:ec2::254", "ff02::1", "::ffff:127.0.0.1", "::ffff:169.254.169.254", "::127.0.0.1",
        "64:ff9b::7f00:1", "64:ff9b::a9fe:a9fe", "64:ff9b:1::1", "2002:7f00:1::",
        "2001:0:7f00:1::", "2001:db8::1",
    ],
)  # fmt: skip
def test_addresses_that_are_not_public(address):
    assert why_not_public(address)


@pytest.mark.parametrize(
    "address", ["8.8.8.8", "1.1.1.1", "2606:4700:4700::1111", "64:ff9b::808:808"]
)
def test_addresses_that_are_public(address):
    assert why_not_public(address) is None


@pytest.mark.parametrize(
    "text",
    [
        "2130706433", "0x7f000001", "0177.0.0.1", "127.1", "127.0.1", "127.0.0.01", "127.0.0.1.",
        "0x7f.0.0.1", "127.0.0.0x1", "1.2.3.4.5", "[127.0.0.1]", "[::1%lo]", "[::1", "a.org.", "",
        "a b", "a\tb", "a\0b", "a/b", "ａ.org", "a%2eorg", "999.1.1.1",
    ],
)  # fmt: skip
def test_odd_spellings_of_hosts_are_refused(text):
    with pytest.raises(ValueError):  # noqa: PT011 - whoever calls it says what is wrong
        read_host(text)
