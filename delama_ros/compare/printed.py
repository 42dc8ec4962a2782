"""The figures that the paper prints, to stand beside ours (its tables 2 to 6)."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Table:
    """One of the paper's tables: at which steps we show it, and whether it is about graphs."""

    title: str
    steps: tuple[int, ...]
    graphs: bool = False


_IMAGES = (Table('Table 4: methods', (1, 5, 10)), Table('Table 5: graphs', (1, 3, 5, 10), True))
TABLES: dict[str, tuple[Table, ...]] = {
    'regression': (
        Table('Table 2: methods', (1, 5, 10)), Table('Table 3: graphs', (1, 5, 10), True)
    ),
    'mnist': _IMAGES,
    'cifar10': _IMAGES,
    'mapping': (Table('Table 6: methods', (1, 6, 12)),),
}

Row = dict[int, float]  # step → figure


def _row(*values: float, at: tuple[int, ...] = (1, 5, 10)) -> Row:
    return dict(zip(at, values, strict=True))


# Table 2 (methods) and table 3 (graphs): mean square error.
REGRESSION: dict[str, Row] = {
    'fedavg': _row(12.9147, 10.3229, at=(1, 10)),
    'fedprox': _row(11.8117, 10.5989, at=(1, 10)),
    'scaffold': _row(13.6683, 12.8070, at=(1, 10)),
    'fedavg_ft': _row(9.8845, 6.7536, at=(1, 10)),
    'fedprox_ft': _row(9.4131, 6.6035, at=(1, 10)),
    'ditto': _row(16.3461, 7.9752, at=(1, 10)),
    'fedrep': _row(40.0225, 11.4844, at=(1, 10)),
    'pfedgraph': _row(8.6481, 5.9771, at=(1, 10)),
    'dsgd': _row(23.8660, 12.6872, at=(1, 10)),
    'dsgt': _row(17.7407, 17.7413, at=(1, 10)),
    'dfedavgm': _row(13.2054, 10.4894, at=(1, 10)),
    'ns': _row(56.1900, 0.8384, 0.3919),
    'glasso': _row(3.9664, 0.1923, 0.0817),
    'mtrl': _row(2.6570, 0.3009, 0.1837),
    'gl_logdet': _row(3.2395, 0.1416, 0.0726),
    'l2g_pds': _row(4.4638, 0.1633, 0.0744),
    'oracle': _row(1.1611, 0.0847, 0.0695),
    'wc': _row(5.0794, 0.0785, at=(1, 10)),
    'wm': _row(2.3377, 2.6150, at=(1, 10)),
    'delama': _row(2.3377, 0.1104, 0.0719),
    'delama_er_0.3': _row(3.0061, 0.2176, 0.0944),
    'delama_er_0.5': _row(2.8659, 0.1654, 0.0850),
    'delama_ba_0.3': _row(2.8893, 0.2391, 0.0905),
    'delama_ba_0.5': _row(2.7184, 0.1781, 0.0787),
}

# Table 4 (methods) and table 5 (graphs, which ends with t = 5): accuracy in per cent.
MNIST: dict[str, Row] = {
    'lwf': _row(20.17, 26.49, 32.34),
    'ewc': _row(20.10, 26.64, 31.47),
    'mas': _row(20.10, 26.64, 31.47),
    'gem': _row(20.00, 25.41, 49.84),
    'agem': _row(20.00, 20.94, 22.47),
    'fedavg': _row(43.09, 51.76, 59.50),
    'fedprox': _row(49.12, 56.17, 60.28),
    'scaffold': _row(48.04, 56.14, 64.44),
    'fedavg_ft': _row(27.36, 50.27, 59.10),
    'fedprox_ft': _row(36.07, 53.46, 58.87),
    'ditto': _row(37.80, 51.63, 59.41),
    'fedrep': _row(20.00, 20.57, 23.23),
    'pfedgraph': _row(20.00, 26.09, 34.79),
    'dsgd': _row(20.10, 20.52, 22.61),
    'dsgt': _row(22.42, 21.34, 22.81),
    'dfedavgm': _row(36.91, 51.37, 54.91),
    'ns': _row(52.83, 83.13, 95.81, at=(1, 3, 5)),
    'glasso': _row(38.52, 81.89, 95.88, at=(1, 3, 5)),
    'mtrl': _row(39.36, 79.61, 97.28, at=(1, 3, 5)),
    'gl_logdet': _row(44.93, 65.43, 79.93, at=(1, 3, 5)),
    'l2g_pds': _row(68.32, 91.96, 97.30, at=(1, 3, 5)),
    'oracle': _row(69.28, 92.83, 98.22, at=(1, 3, 5)),
    'wc': _row(37.15, 78.92, 95.54),
    'wm': _row(67.67, 66.67, 67.10),
    'delama': _row(67.67, 92.02, 98.03, 99.51, at=(1, 3, 5, 10)),
}

CIFAR10: dict[str, Row] = {
    'lwf': _row(20.00, 20.00, 20.00),
    'ewc': _row(20.00, 20.00, 20.01),
    'mas': _row(20.00, 20.00, 20.00),
    'gem': _row(20.00, 25.94, 32.49),
    'agem': _row(20.00, 20.38, 20.07),
    'fedavg': _row(19.94, 20.84, 23.88),
    'fedprox': _row(21.70, 23.74, 26.32),
    'scaffold': _row(21.09, 23.78, 26.18),
    'fedavg_ft': _row(20.00, 20.34, 23.02),
    'fedprox_ft': _row(20.00, 20.33, 22.51),
    'ditto': _row(20.04, 20.29, 22.32),
    'fedrep': _row(20.00, 20.00, 20.00),
    'pfedgraph': _row(20.00, 20.93, 22.23),
    'dsgd': _row(20.02, 20.02, 20.00),
    'dsgt': _row(19.94, 20.02, 20.05),
    'dfedavgm': _row(19.97, 21.30, 22.38),
    'ns': _row(38.36, 54.28, 66.19, at=(1, 3, 5)),
    'glasso': _row(24.41, 55.39, 69.74, at=(1, 3, 5)),
    'mtrl': _row(25.36, 53.23, 64.88, at=(1, 3, 5)),
    'gl_logdet': _row(35.52, 48.51, 58.23, at=(1, 3, 5)),
    'l2g_pds': _row(45.63, 65.03, 72.06, at=(1, 3, 5)),
    'oracle': _row(48.21, 68.51, 74.16, at=(1, 3, 5)),
    'wc': _row(30.96, 57.81, 71.46),
    'wm': _row(46.87, 46.07, 45.32),
    'delama': _row(46.87, 65.19, 72.57, 76.03, at=(1, 3, 5, 10)),
}

# Table 6: F1 in per cent. The paper does not say what its DSGD, DSGT and DiNNO learn from; current
# scans only is what comes nearest.
MAPPING: dict[str, Row] = {
    'dsgd_naive': _row(13.44, 43.90, 45.75, at=(1, 6, 12)),
    'dsgt_naive': _row(38.32, 38.31, 38.31, at=(1, 6, 12)),
    'dinno_naive': _row(14.73, 20.34, 25.57, at=(1, 6, 12)),
    'wc': _row(68.50, 72.66, 74.92, at=(1, 6, 12)),
    'delama': _row(72.11, 88.52, 95.31, at=(1, 6, 12)),
}

# The same tables: error of the graph, GMSE.
GRAPH_ERRORS: dict[str, dict[str, Row]] = {
    'regression': {
        'ns': _row(1.4198, 1.4900, 1.4396),
        'glasso': _row(0.9687, 0.9449, 0.9540),
        'mtrl': _row(72.26, 3.955, 60.3069),
        'gl_logdet': _row(1.0391, 0.8916, 0.8331),
        'l2g_pds': _row(3.6415, 1.2675, 0.6638),
        'delama': _row(0.2992, 0.0930, 0.0721),
        'delama_er_0.3': _row(1.8291, 1.7683, 1.7712),
        'delama_er_0.5': _row(1.1627, 0.9794, 0.9736),
        'delama_ba_0.3': _row(1.8244, 1.7697, 1.7728),
        'delama_ba_0.5': _row(0.9755, 0.8475, 0.8371),
    },
    'mnist': {
        'ns': _row(0.9999, 2.3562, 1.3772, at=(1, 3, 5)),
        'glasso': _row(1.7585, 0.2728, 0.1365, at=(1, 3, 5)),
        'mtrl': _row(2.1181, 0.3179, 0.1444, at=(1, 3, 5)),
        'gl_logdet': _row(7.0086, 0.9999, 1.0000, at=(1, 3, 5)),
        'l2g_pds': _row(0.5211, 0.2970, 0.1391, at=(1, 3, 5)),
        'delama': _row(0.4998, 0.1968, 0.0855, at=(1, 3, 5)),
    },
    'cifar10': {
        'ns': _row(1.9756, 4.0367, 2.321, at=(1, 3, 5)),
        'glasso': _row(14.3883, 1.3897, 0.3823, at=(1, 3, 5)),
        'mtrl': _row(375.2, 2.0157, 0.4352, at=(1, 3, 5)),
        'gl_logdet': _row(1.0000, 1.0033, 1.0109, at=(1, 3, 5)),
        'l2g_pds': _row(0.5067, 0.3226, 0.2065, at=(1, 3, 5)),
        'delama': _row(0.5948, 0.3089, 0.1475, at=(1, 3, 5)),
    },
    'mapping': {},
}

PRINTED: dict[str, dict[str, Row]] = {
    'regression': REGRESSION, 'mnist': MNIST, 'cifar10': CIFAR10, 'mapping': MAPPING,
}
