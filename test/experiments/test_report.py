"""Tables: ours beside the paper's, in all formats."""

import csv
from typing import Any

import numpy as np

from delama_ros.experiments import report
from delama_ros.experiments.mapping.methods import NAMES
from delama_ros.experiments.printed import PRINTED, TABLES
from delama_ros.experiments.report import Report, Row
from delama_ros.experiments.tasks.evaluate import methods_of

DITTO = Row(
    'ditto', 'network',
    {'mse': [20.0, 0.5], 'mse_se': [1.0, 0.05], 'bytes': 1234, 'rounds': 7}, 'plain',
    [[19.0, 0.4], [21.0, 0.6]],
)
BAYES = Row(
    'bayes', 'network',
    {
        'mse': [2.0, 0.05], 'mse_se': [0.1, 0.001], 'bytes': 1000, 'rounds': 5,
        'gmse': [0.5, 0.25], 'gmse_all_links': [0.6, 0.3],
    },
    '', [[1.9, 0.049], [2.1, 0.051]],
)


def made(*rows: Row, task: str = 'regression', metric: str = 'mse') -> Report:
    return Report(task, metric, list(rows), {'seeds': [0]}, '2 sequences')


def longer(row: Row) -> Row:
    """Return a row whose second step is the fifth, which the paper's tables show."""
    order = [0, 1, 1, 1, 1]
    figures: dict[str, Any] = {
        key: [value[t] for t in order] if isinstance(value, list) else value
        for key, value in row.figures.items()
    }
    scores = [[scores[t] for t in order] for scores in row.scores]
    return Row(row.method, row.runs_as, figures, row.setup, scores)


def test_the_table_shows_printed_figures_and_costs() -> None:
    (laid,) = report.tables(made(longer(DITTO), longer(BAYES)))
    assert laid.header == [
        'method', 'runs as', 'set-up', 'mse t=1', 'mse t=5', 'paper', 'GMSE', 'paper GMSE',
        'kB/step', 'rounds',
    ]
    assert laid.lines[0] == [
        'ditto', 'network', 'plain', '20.0 ± 1.0', '0.500 ± 0.050', '16.3 / –', '–', '–', '1.234',
        '7',
    ]
    assert laid.lines[1] == [
        'bayes', 'network', '–', '2.00 ± 0.10', '0.0500 ± 0.0010', '2.34 / 0.110',
        '0.500 / 0.250', '0.299 / 0.093', '1', '5',
    ]


def test_graph_learners_have_a_table_of_their_own_with_variants_in_both() -> None:
    ns = Row('ns', 'network', longer(BAYES).figures)
    methods, graphs = report.tables(made(longer(DITTO), longer(BAYES), ns))
    assert [line[0] for line in methods.lines] == ['ditto', 'bayes']
    assert [line[0] for line in graphs.lines] == ['bayes', 'ns']
    # There the true graph has all links, as in the paper.
    assert graphs.lines[1][graphs.header.index('GMSE')] == '0.600 / 0.300'


def test_a_task_without_printed_figures_has_no_column_for_them() -> None:
    (laid,) = report.tables(made(longer(DITTO), task='own'))
    assert laid.header == [
        'method', 'runs as', 'set-up', 'mse t=1', 'mse t=3', 'mse t=5', 'kB/step', 'rounds',
    ]


def test_every_method_is_in_a_table() -> None:
    for task in ('regression', 'mnist', 'cifar10'):
        rows = [Row(name, 'network', longer(BAYES).figures) for name in methods_of(task)]
        shown = {line[0] for laid in report.tables(made(*rows, task=task)) for line in laid.lines}
        assert shown == set(methods_of(task))


def test_the_margin_is_over_methods_without_a_server() -> None:
    assert report.margins(made(DITTO, BAYES)) == []  # Ditto has one
    dsgd = Row('dsgd', 'network', DITTO.figures, 'plain', DITTO.scores)
    figures = {**DITTO.figures, 'mse': [9.0, 9.0]}
    better = Row('dsgd', 'network', figures, 'strong', [[8.0, 9.0], [10.0, 9.0]])
    (text,) = report.margins(made(*map(longer, (DITTO, BAYES, dsgd, better))))
    # 6.1 and 7.9 in the two sequences, which is less sure than both means would let one think
    assert 't=1 7.00 ± 0.90 ahead of dsgd_strong' in text
    assert 't=5 0.450 ± 0.099 ahead of dsgd' in text


def test_ratios_to_oracle_and_alone() -> None:
    alone = Row('alone', 'agents', {**BAYES.figures, 'mse': [4.0, 0.5]})
    assert report.ratios(made(alone, BAYES)) == ['bayes relative to alone: 0.50 / 0.10']


def test_large_models_are_sized_in_plain_numbers_and_one_sequence_has_no_error() -> None:
    row = longer(DITTO)
    row.figures.update(bytes=71_460_000, sequences=1)
    (laid,) = report.tables(made(row))
    assert laid.lines[0][3:] == ['20.0', '0.500', '16.3 / –', '71460', '7']


def test_standard_errors_leave_out_what_is_no_number() -> None:
    assert report.standard_error(np.array([[1.0, 2.0]])).tolist() == [0.0, 0.0]
    values = np.array([[1.0, 1.0], [3.0, 3.0], [np.nan, 5.0]])
    np.testing.assert_allclose(report.standard_error(values), [1.0, 2 / 3**0.5])


def test_all_files_are_written(tmp_path) -> None:
    report.write(made(DITTO, BAYES), tmp_path)
    assert (tmp_path / 'regression.md').read_text().endswith('seeds [0]\n')
    with (tmp_path / 'regression.csv').open() as file:
        lines = list(csv.reader(file))
    assert lines[1] == ['ditto', 'plain', '1', '20.0', '1.0']
    assert len(lines) == 5
    assert (tmp_path / 'regression.png').read_bytes().startswith(b'\x89PNG')


def test_json_has_methods_by_name() -> None:
    strong = Row('ditto', 'network', DITTO.figures, 'strong')
    figures = made(DITTO, strong, BAYES).as_json()
    assert list(figures['methods']) == ['ditto', 'ditto_strong', 'bayes']
    assert figures['methods']['bayes']['mse'] == [2.0, 0.05]
    assert figures['methods']['bayes']['runs_as'] == 'network'


def test_every_printed_row_has_a_method_here() -> None:
    for task, rows in PRINTED.items():
        assert set(rows) <= set(NAMES if task == 'mapping' else methods_of(task))
        for row in rows.values():
            assert set(row) <= {t for table in TABLES[task] for t in table.steps}
