//! Each gate is tight: the command it holds back comes in the very cycle the gate opens, and in exactly this order.

use super::{gddr6, hbm2, kinds, read, serve, write};
use crate::config::DramConfig;
use crate::dram::{Command, DramRequest};

/// Commands as `A0.7@12` (activate row 7 of bank 0 in cycle 12), `R0@24`, `W0@24`, `P0@30`, `P*@30`, `F@42`, `F0@42` (refresh).
fn text(commands: &[(u64, Command)]) -> String {
    let words = commands.iter().map(|(at, command)| match command {
        Command::Activate { bank, row } => format!("A{bank}.{row}@{at}"),
        Command::Read { bank } => format!("R{bank}@{at}"),
        Command::Write { bank } => format!("W{bank}@{at}"),
        Command::Precharge { bank } => format!("P{bank}@{at}"),
        Command::PrechargeAll => format!("P*@{at}"),
        Command::Refresh => format!("F@{at}"),
        Command::RefreshBank { bank } => format!("F{bank}@{at}"),
    });
    words.collect::<Vec<_>>().join(" ")
}

#[track_caller]
fn check(config: &DramConfig, arrivals: &[(u64, DramRequest)], expected: &str) {
    assert_eq!(text(&serve(config, arrivals).commands), expected);
}

fn with(change: impl FnOnce(&mut crate::config::DramTiming)) -> DramConfig {
    let mut config = hbm2();
    change(&mut config.timing);
    config
}

// Of HBM2: an access takes 1 cycle, RCDWR = 12 - 3 = 9, read to write 12 + 1 + 2 - 2 = 13, write to read 2 + 1 + 3 = 6,
// write to precharge 2 + 1 + 10 = 13. Banks 0 to 3 are one group, 4 to 7 the next.

#[test]
fn rcd() {
    check(&hbm2(), &[(5, read(0, 7))], "A0.7@5 R0@17");
}

#[test]
fn rcdwr() {
    check(&hbm2(), &[(5, write(0, 7))], "A0.7@5 W0@14");
}

#[test]
fn rrd() {
    check(&hbm2(), &[(0, read(0, 7)), (0, read(4, 8))], "A0.7@0 A4.8@3 R0@12 R4@15");
}

#[test]
fn rrdl() {
    let list = [(0, read(0, 7)), (0, read(1, 8)), (0, read(4, 9))];
    check(&with(|t| t.rrdl = 5), &list, "A0.7@0 A4.9@3 A1.8@6 R0@12 R4@15 R1@18");
    // Of one group, the second waits for RRD_L after the first, though others came between.
    check(&with(|t| t.rrdl = 8), &list, "A0.7@0 A4.9@3 A1.8@8 R0@12 R4@15 R1@20");
}

#[test]
fn faw() {
    let list: Vec<_> = [0, 4, 8, 12, 1].into_iter().map(|bank| (0, read(bank, 7))).collect();
    let config = with(|t| t.faw = 16);
    check(&config, &list, "A0.7@0 A4.7@3 A8.7@6 A12.7@9 R0@12 R4@15 A1.7@16 R8@18 R12@21 R1@28");
    // Four fit into it; a window that RRD fills anyway is none.
    check(&with(|t| t.faw = 12), &list, "A0.7@0 A4.7@3 A8.7@6 A12.7@9 R0@12 A1.7@12 R4@15 R8@18 R12@21 R1@24");
}

#[test]
fn wtrl() {
    let config = with(|t| t.wtrl = 7);
    let open = [(0, read(0, 7)), (0, read(1, 8)), (0, read(4, 8)), (100, write(0, 7))];
    // WL + data + tWTR_L within the group, tWTR_S elsewhere.
    let opened = "A0.7@0 A1.8@3 A4.8@6 R0@12 R1@15 R4@18 W0@100";
    check(&config, &[&open[..], &[(101, read(1, 8))]].concat(), &format!("{opened} R1@110"));
    check(&config, &[&open[..], &[(101, read(4, 8))]].concat(), &format!("{opened} R4@106"));
    check(&config, &[&open[..], &[(101, read(1, 8)), (101, read(4, 8))]].concat(), &format!("{opened} R4@106 R1@110"));
}

#[test]
fn rtw() {
    let list = [(0, read(0, 7)), (0, read(4, 8)), (100, read(0, 7)), (101, write(4, 8))];
    check(&with(|t| t.rtw = 17), &list, "A0.7@0 A4.8@3 R0@12 R4@15 R0@100 W4@117");
}

#[test]
fn refresh_of_one_bank() {
    // Every 100 cycles one bank of 16, in turn.
    let config = with(|t| (t.refi, t.rfc, t.rfcsb) = (1600, 100, 60));
    // From when it is due its bank serves nobody, others go on; an open row is closed first, RP before the refresh, and opens
    // again RFCSB after it.
    let list = [(90, read(0, 7)), (90, read(4, 8)), (110, read(0, 7)), (110, read(4, 8))];
    check(&config, &list, "A0.7@90 A4.8@93 R4@105 R4@110 P0@118 F0@130 A0.7@190 F1@200 R0@202 R0@204");
    // To other activates it is one of them.
    check(&config, &[(99, read(5, 7)), (101, read(4, 8))], "A5.7@99 F0@102 A4.8@105 R5@111 R4@117");
    // An idle channel does it without being asked, and a long rest is one step.
    check(&config, &[(0, read(0, 7)), (301, read(1, 7))], "A0.7@0 R0@12 P0@100 F0@112 F1@200 F2@300 A1.7@303 R1@315");
    let outcome = serve(&config, &[(16_000_050, read(1, 7))]);
    assert_eq!((outcome.stats.refreshes, outcome.commands.len()), (160_000, 160_002));
    assert_eq!(outcome.commands[160_000], (16_000_050, Command::Activate { bank: 1, row: 7 }));
}

#[test]
fn ccd() {
    let list = [(0, read(0, 7)), (0, read(4, 8)), (100, read(0, 7)), (100, read(4, 8))];
    check(&hbm2(), &list, "A0.7@0 A4.8@3 R0@12 R4@15 R0@100 R4@101");
    check(&with(|t| t.ccd = 2), &list, "A0.7@0 A4.8@3 R0@12 R4@15 R0@100 R4@102");
}

#[test]
fn ccdl() {
    let list = [(0, read(0, 7)), (0, read(1, 8)), (100, read(0, 7)), (100, read(1, 8))];
    check(&hbm2(), &list, "A0.7@0 A1.8@3 R0@12 R1@15 R0@100 R1@102");
}

#[test]
fn the_data_bus() {
    let mut config = gddr6();
    config.timing.ccd = 1;
    config.timing.ccdl = 1;
    let list = [(0, DramRequest { accesses: 3, ..read(0, 7) })];
    check(&config, &list, "A0.7@0 R0@24 R0@28 R0@32");
    let list = [(0, DramRequest { accesses: 3, ..write(0, 7) })];
    check(&config, &list, "A0.7@0 W0@15 W0@19 W0@23");
}

#[test]
fn ras_rp_rc() {
    let list = [(0, read(0, 7)), (0, read(0, 8))];
    check(&hbm2(), &list, "A0.7@0 R0@12 P0@28 A0.8@40 R0@52");
    check(&with(|t| t.ras = 31), &list, "A0.7@0 R0@12 P0@31 A0.8@43 R0@55");
    check(&with(|t| t.rp = 14), &list, "A0.7@0 R0@12 P0@28 A0.8@42 R0@54");
    check(&with(|t| t.rc = 45), &list, "A0.7@0 R0@12 P0@28 A0.8@45 R0@57");
}

#[test]
fn rtpl() {
    let list = [(0, read(0, 7)), (100, read(0, 7)), (100, read(0, 8))];
    check(&hbm2(), &list, "A0.7@0 R0@12 R0@100 P0@103 A0.8@115 R0@127");
}

#[test]
fn wr() {
    let list = [(0, read(0, 7)), (100, write(0, 7)), (100, write(0, 8))];
    check(&hbm2(), &list, "A0.7@0 R0@12 W0@100 P0@113 A0.8@125 W0@134");
}

#[test]
fn cdlr() {
    let list = [(0, read(0, 7)), (0, read(4, 8)), (100, write(0, 7)), (101, read(4, 8))];
    check(&hbm2(), &list, "A0.7@0 A4.8@3 R0@12 R4@15 W0@100 R4@106");
}

#[test]
fn read_to_write() {
    let list = [(0, read(0, 7)), (0, read(4, 8)), (100, read(0, 7)), (101, write(4, 8))];
    check(&hbm2(), &list, "A0.7@0 A4.8@3 R0@12 R4@15 R0@100 W4@113");
}

/// A row that would be open in time for the write that asked for it is still opening for the read that comes first.
#[test]
fn rcd_after_a_change_of_kind() {
    let list = [(0, read(4, 8)), (100, read(4, 8)), (101, write(0, 7)), (105, read(0, 7))];
    check(&hbm2(), &list, "A4.8@0 R4@12 R4@100 A0.7@101 R0@113 W0@126");
}

/// And so is a group that was used too recently.
#[test]
fn ccdl_after_a_change_of_kind() {
    let config = with(|t| t.ccdl = 9);
    let list = [(0, read(0, 7)), (0, read(1, 8)), (100, read(0, 7)), (101, write(1, 8)), (103, read(1, 8))];
    check(&config, &list, "A0.7@0 A1.8@3 R0@12 R1@21 R0@100 R1@109 W1@122");
}

#[test]
fn one_row_command_per_cycle() {
    let list = [(0, read(0, 7)), (0, read(4, 7)), (100, read(0, 8)), (100, read(4, 8))];
    check(&hbm2(), &list, "A0.7@0 A4.7@3 R0@12 R4@15 P0@100 P4@101 A0.8@112 A4.8@115 R0@124 R4@127");
}

#[test]
fn row_and_column_commands_do_not_hinder_each_other() {
    let list = [(0, read(0, 7)), (100, read(0, 7)), (100, read(4, 8))];
    check(&hbm2(), &list, "A0.7@0 R0@12 R0@100 A4.8@100 R4@112");
}

#[test]
fn refresh() {
    let config = with(|t| (t.refi, t.rfc) = (1000, 100));
    // An open row is closed first, RP before the refresh; the next row opens RFC after it.
    check(&config, &[(0, read(0, 7)), (1000, read(0, 7))], "A0.7@0 R0@12 P*@1000 F@1012 A0.7@1112 R0@1124");
    // A row that was opened just before is kept for RAS, and serves whom it can until RTPL before it closes.
    let list = [(990, read(0, 7)), (1010, read(0, 7)), (1016, read(0, 7))];
    check(&config, &list, "A0.7@990 R0@1002 R0@1010 P*@1018 F@1030 A0.7@1130 R0@1142");
    // RC counts for the refresh as it does for an activate.
    let config = with(|t| (t.refi, t.rfc, t.rc) = (1000, 100, 60));
    check(&config, &[(990, read(0, 7)), (1016, read(0, 7))], "A0.7@990 R0@1002 P*@1018 F@1050 A0.7@1150 R0@1162");
}

#[test]
fn an_idle_channel_refreshes_without_being_asked() {
    let config = with(|t| (t.refi, t.rfc) = (1000, 100));
    let list = [(0, read(0, 7)), (3050, read(0, 7))];
    check(&config, &list, "A0.7@0 R0@12 P*@1000 F@1012 F@2000 F@3000 A0.7@3100 R0@3112");
    // A long rest is one step, and counted.
    let outcome = serve(&config, &[(5_000_500, read(0, 7))]);
    assert_eq!(outcome.stats.refreshes, 5000);
    assert_eq!(outcome.done, [(5_000_525, 0)]);
}

#[test]
fn unloaded_latency_is_the_formula() {
    for (name, config) in kinds() {
        let t = config.timing;
        let data = u64::from(t.cl) + super::access_cycles(&config);
        let far = 10_000;
        let closed = serve(&config, &[(far, read(2, 5))]).done;
        assert_eq!(closed, [(far + u64::from(t.rcd) + data, 0)], "{name}, closed");
        let open = serve(&config, &[(0, read(2, 5)), (far, read(2, 5))]).done;
        assert_eq!(open[1].0, far + data, "{name}, open");
        let conflict = serve(&config, &[(0, read(2, 6)), (far, read(2, 5))]);
        assert_eq!(conflict.done[1].0, far + u64::from(t.rp + t.rcd) + data, "{name}, conflict");
        assert_eq!((conflict.stats.row_misses, conflict.stats.row_conflicts), (1, 1), "{name}");
    }
}
