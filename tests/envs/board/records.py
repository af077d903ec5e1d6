"""Games that were played: moves and how they ended."""

from __future__ import annotations

__all__ = ["CHESS", "OTHELLO", "WUZHEN", "WUZHEN_DEAD"]

CHESS = {
    "Morphy against Duke Karl and Count Isouard, Paris 1858": (
        """e4 e5 Nf3 d6 d4 Bg4 dxe5 Bxf3 Qxf3 dxe5 Bc4 Nf6 Qb3 Qe7 Nc3 c6 Bg5 b5 Nxb5 cxb5 Bxb5+
        Nbd7 O-O-O Rd8 Rxd7 Rxd7 Rd1 Qe6 Bxd7+ Nxd7 Qb8+ Nxb8 Rd8#""",
        "1n1Rkb1r/p4ppp/4q3/4p1B1/4P3/8/PPP2PPP/2K5 b k - 1 17",
        (1.0, -1.0),
    ),
    "Anderssen against Kieseritzky, London 1851": (
        """e4 e5 f4 exf4 Bc4 Qh4+ Kf1 b5 Bxb5 Nf6 Nf3 Qh6 d3 Nh5 Nh4 Qg5 Nf5 c6 g4 Nf6 Rg1 cxb5 h4
        Qg6 h5 Qg5 Qf3 Ng8 Bxf4 Qf6 Nc3 Bc5 Nd5 Qxb2 Bd6 Bxg1 e5 Qxa1+ Ke2 Na6 Nxg7+ Kd8 Qf6+ Nxf6
        Be7#""",
        "r1bk3r/p2pBpNp/n4n2/1p1NP2P/6P1/3P4/P1P1K3/q5b1 b - - 1 23",
        (1.0, -1.0),
    ),
    "Anderssen against Dufresne, Berlin 1852": (
        """e4 e5 Nf3 Nc6 Bc4 Bc5 b4 Bxb4 c3 Ba5 d4 exd4 O-O d3 Qb3 Qf6 e5 Qg6 Re1 Nge7 Ba3 b5 Qxb5
        Rb8 Qa4 Bb6 Nbd2 Bb7 Ne4 Qf5 Bxd3 Qh5 Nf6+ gxf6 exf6 Rg8 Rad1 Qxf3 Rxe7+ Nxe7 Qxd7+ Kxd7
        Bf5+ Ke8 Bd7+ Kf8 Bxe7#""",
        "1r3kr1/pbpBBp1p/1b3P2/8/8/2P2q2/P4PPP/3R2K1 b - - 0 24",
        (1.0, -1.0),
    ),
    "Loyd's shortest stalemate": (
        """e3 a5 Qh5 Ra6 Qxa5 h5 h4 Rah6 Qxc7 f6 Qxd7+ Kf7 Qxb7 Qd3 Qxb8 Qh7 Qxc8 Kg6 Qe6""",
        "5bnr/4p1pq/4Qpkr/7p/7P/4P3/PPPP1PP1/RNB1KBNR b KQ - 2 10",
        (0.0, 0.0),
    ),
}
"""Moves in algebraic notation, the last position, results of white and black."""

OTHELLO = "f5 d6 c5 f4 e7 f6 g5 e6 e3"
"""The shortest game: black owns all of the 13 discs."""

WUZHEN = """
qd pp cc cp nc fp qq pq qp qn qo po rn qr rr rm pr or pn qm qs on dj nk ph ch cf eh ci de df dc cd
dd ef di ei dh cj ce be bf bg bd af bc fi cm hq ek fh gq hp ej eq gr cq dp dq ep bp bh ah bo bq fg
gg kp ko jo jn in jp io lp kq lq kr lr ir kn il oq pf nh rf od qi qg rd qf qe pe re qc rg kh ic gc
kc jd id ge hb gb jf je ie ld hg eg lc le hf qh rh pi qj gk fd gd lf mf lg gm gn fn go dl mo oo pm
op mg nf lo nn lm pn dk ck cl el bk bi li ii ds dr hi ik jk ij md mc ke me kd om ls ms ks nr ng og
es cs fr er fs bs hl pl ql rc ro rp sn hm im kk kj lk jl mj mi nj pk fm cn ol ok ni ih ji mb nb lb
fe cb mp mm eb na oa ma qb bj ai aj ag gl fk bl kg kf ib jb ga ha ed ec fc gf ff gj hk hh fj no fq
hr kl km mn ln nl db da ca ea np nq oj oi en em eo dm dn sp so hn ho hc ia ao an ap sc sb sd jg ad
gh ae ee ml mk pj bf nm on he ig ki jh fl jj fo hj gi ll jm lh mh lj if hd
"""
"""Ke Jie (black) against AlphaGo, first game, Wuzhen, 23 May 2017: 289 moves, white won by half a
point. A move is column and row, counted in letters from the top left."""
WUZHEN_DEAD = "K16 K15 N16 Q14 B12 C12 D12 E12 D11 H4 H3 K4 P2"
"""Stones that were taken off when that game was counted."""
