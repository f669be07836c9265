from evaluation.rank_fusion import fuse_ranks


def test_rank_fusion_puts_what_both_lists_hold_before_what_one_holds() -> None:
    assert fuse_ranks(["a", "b", "c"], ["d", "b", "e"])[0] == "b"


def test_rank_fusion_orders_equals_by_their_name() -> None:
    assert fuse_ranks(["b"], ["a"]) == ["a", "b"]
