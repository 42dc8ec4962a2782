"""Tables: ours beside the paper's, in all formats."""

import csv
from typing import Any

from delama_ros.compare import report
from delama_ros.compare.mapping import METHODS as MAPPING
from delama_ros.compare.printed import PRINTED, TABLES
from delama_ros.compare.run import METHODS, methods_of

ROWS = [
    {
        'method': 'ditto', 'label': 'Ditto', 'setup': 'plain', 'mean': [20.0, 0.5], 'error':
        [1.0, 0.05], 'bytes': 1234, 'rounds': 7, 'scores': [[19.0, 0.4], [21.0, 0.6]],
    },
    {
        'method': 'delama', 'label': 'DeLAMA (ours)', 'setup': 'delama', 'mean': [2.0, 0.05],
        'error': [0.1, 0.001], 'bytes': 1000, 'rounds': 5, 'graph_error': [0.5, 0.25],
        'scores': [[1.9, 0.049], [2.1, 0.051]],
    },
]


def test_the_table_shows_both_figures_and_what_they_cost() -> None:
    (laid,) = report.tables(ROWS, 'regression')
    assert laid.header == ['method', 'set-up', 't=1', 'paper t=1', 'kB/step', 'rounds']
    assert laid.lines[0] == ['Ditto', 'plain', '20.0 ± 1.0', '16.3', '1.234', '7']
    assert laid.lines[1] == ['DeLAMA (ours)', 'delama', '2.00 ± 0.10', '2.34', '1', '5']


def test_learners_of_graphs_have_a_table_of_their_own_with_delama_in_both() -> None:
    ns = {**ROWS[1], 'method': 'ns', 'label': 'NS'}
    methods, graphs = report.tables([*ROWS, ns], 'regression')
    assert [line[0] for line in methods.lines] == ['Ditto', 'DeLAMA (ours)']
    assert [line[0] for line in graphs.lines] == ['DeLAMA (ours)', 'NS']
    assert graphs.header[4:6] == ['GMSE', 'paper GMSE']
    assert graphs.lines[1][2:6] == ['2.00 ± 0.10', '56.2', '0.50', '1.42']


def test_every_method_is_in_a_table() -> None:
    for task in PRINTED:
        known = MAPPING if task == 'mapping' else methods_of(task)
        rows = [{**ROWS[1], 'method': name, 'label': name} for name in known]
        shown = {line[0] for laid in report.tables(rows, task) for line in laid.lines}
        assert shown == set(known)


def test_the_margin_is_over_methods_without_a_server() -> None:
    assert report.margins(ROWS, 'regression', 'mse') == []  # Ditto has one
    dsgd = {**ROWS[0], 'method': 'dsgd', 'label': 'DSGD'}
    better = {**dsgd, 'mean': [9.0, 9.0], 'scores': [[8.0, 9.0], [10.0, 9.0]]}
    rows = [_longer(row) for row in [*ROWS, dsgd, better]]
    (text,) = report.margins(rows, 'regression', 'mse')
    # 6.1 and 7.9 in the two sequences, which is less sure than both means would let one think
    assert 't=1 2.00 against 9.00 (DSGD, plain), 7.00 ± 0.90 ahead' in text
    assert 't=5 0.0500 against 0.500 (DSGD, plain), 0.450 ± 0.099 ahead' in text


def _longer(row: dict[str, Any]) -> dict[str, Any]:
    """Return a row whose second step is the fifth, which the paper's tables show."""
    order = [0, 1, 1, 1, 1]
    return {
        **row, **{key: [row[key][t] for t in order] for key in ('mean', 'error')},
        'scores': [[scores[t] for t in order] for scores in row['scores']],
    }


def test_large_models_are_sized_in_plain_numbers_and_one_sequence_has_no_error() -> None:
    (laid,) = report.tables([{**ROWS[0], 'bytes': 71_460_000, 'sequences': 1}], 'mnist')
    assert laid.lines[0] == ['Ditto', 'plain', '20.0', '37.8', '71460', '7']


def test_one_sequence_has_no_spread() -> None:
    assert report.standard_error([[1.0, 2.0]]).tolist() == [0.0, 0.0]


def test_all_files_are_written(tmp_path) -> None:
    report.write(tmp_path, ROWS, 'regression', 'mse', {'rounds': 7})
    assert (tmp_path / 'regression.md').read_text().endswith('rounds 7\n')
    with (tmp_path / 'regression.csv').open() as file:
        lines = list(csv.reader(file))
    assert lines[1] == ['ditto', 'plain', '1', '20.0', '1.0', '1234', '7']
    assert len(lines) == 5
    assert (tmp_path / 'regression.png').read_bytes().startswith(b'\x89PNG')


def test_every_printed_row_has_a_method_here() -> None:
    for task, rows in PRINTED.items():
        known = MAPPING if task == 'mapping' else methods_of(task)
        assert set(rows) <= set(known)
        for row in rows.values():
            assert set(row) <= {t for table in TABLES[task] for t in table.steps}
    assert set(methods_of('regression')) < set(METHODS)
