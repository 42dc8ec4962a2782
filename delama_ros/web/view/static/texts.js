// Every text of the page, in one place.

export const TEXTS = {
  title: 'delama view',
  live: 'live',
  recording: (name) => `recording ${name}`,
  connecting: 'connecting',
  connected: 'connected',
  lost: 'connection lost, retrying',
  reading: (share) => `reading the recording, ${Math.round(100 * share)} %`,
  nobody: 'No robots yet. Robots appear here after their first step if they are in the same ROS domain '
    + '(ROS_DOMAIN_ID).',
  allSilent: 'All robots are silent: the run is over, or they cannot be reached from here. Their last '
    + 'state is shown.',
  still: 'Save picture',
  stillHint: 'save what is shown as a PNG file',
  gif: 'Save GIF',
  gifHint: 'save everything so far as an animation',
  gifStop: (done, all) => `Stop (${done}/${all})`,
  help: '?',
  helpHint: 'keys and gestures',
  close: 'Close',
  stage: 'Maps',
  arrangement: 'Layout of maps',
  together: 'One map',
  togetherHint: 'one robot\'s map with all robots in it (m)',
  apart: 'Side by side',
  apartHint: 'every robot\'s map beside the others (m)',
  mapOf: 'Map of',
  layers: 'Layers',
  layer: {
    scans: ['Scans', 'current scan of each laser (s)'],
    trails: ['Paths', 'trajectory of each robot (w)'],
    graph: ['Graph', 'collaboration graph; wider lines have greater weights (g)'],
    names: ['Names', 'names of robots (n)'],
    truth: ['Truth', 'the true walls over the map, where they are known (t)'],
  },
  fit: 'Fit',
  fitHint: 'show the whole building (0)',
  panels: 'Maps: drag to move, wheel or pinch to zoom, arrow keys, plus and minus',
  play: 'Play',
  pause: 'Pause',
  time: 'Time',
  speed: 'Playback speed',
  toLive: 'Live',
  toEnd: 'End',
  quality: 'F1 score of the maps',
  noTruth: 'F1 needs the true map (sim/truth), which is not available.',
  noScore: 'no map has been scored yet',
  score: (f1) => `${(100 * f1).toFixed(1)} %`,
  scoreAt: (step, mean, rest) => `step ${step}: mean ${mean}${rest ? `; ${rest}` : ''}`,
  chart: (step, mean) => `F1 over steps; at step ${step} the mean is ${mean}`,
  chartAxis: 'step',
  mean: 'mean',
  robots: 'Robots',
  log: 'Log',
  ok: 'OK',
  notYet: 'not received yet',
  warning: 'warning',
  silent: (seconds) => `silent for ${seconds} s`,
  unknown: '–',
  fact: {
    step: ['step', 'last time step completed'],
    peers: ['peers', 'peers it collaborates with / neighbours in the step'],
    rounds: ['rounds', 'rounds of the step in which every neighbour answered in time'],
    late: ['late', 'rounds of the step closed by the deadline'],
    bytes: ['sent', 'in the step / in total'],
    refused: ['refused', 'messages refused since the start'],
  },
  inAll: (count) => `total: ${count}`,
  pair: (a, b) => `${a} / ${b}`,
  weights: 'weights',
  bytes: (n) => (n < 1000 ? `${n} B` : n < 1e6 ? `${(n / 1e3).toFixed(1)} KB` : `${(n / 1e6).toFixed(1)} MB`),
  seconds: (t) => `${t.toFixed(1)} s`,
  metres: (m) => `${m} m`,
  level: { 20: 'info', 30: 'warning', 40: 'error', 50: 'fatal' },
  keysTitle: 'Keys',
  keys: [
    ['m', 'one map, or side by side'],
    ['1 … 9', 'map of that robot'],
    ['s  w  g  n  t', 'scans, paths, graph, names, truth'],
    ['arrows, + −, 0', 'move, zoom, fit'],
    ['space', 'play or pause'],
    [', .', 'one second back or forward'],
    ['← → in the chart', 'one step back or forward'],
    ['l', 'newest'],
  ],
  touchHint: 'Drag to move, wheel or two fingers to zoom, click a robot\'s card for its map.',
};

/** Put texts into elements that name them. */
export function fillIn(root) {
  for (const element of root.querySelectorAll('[data-text]')) {
    element.textContent = TEXTS[element.dataset.text];
  }
  for (const element of root.querySelectorAll('[data-hint]')) {
    element.title = TEXTS[element.dataset.hint];
  }
  for (const element of root.querySelectorAll('[data-label]')) {
    element.setAttribute('aria-label', TEXTS[element.dataset.label]);
  }
  for (const button of root.querySelectorAll('[data-layer]')) {
    [button.textContent, button.title] = TEXTS.layer[button.dataset.layer];
  }
}
