// Every text of the page, in one place.

export const TEXTS = {
  title: 'delama view',
  live: 'live',
  recording: (name) => `recording ${name}`,
  connecting: 'connecting',
  connected: 'connected',
  lost: 'connection lost, trying again',
  reading: (share) => `reading the recording, ${Math.round(100 * share)} %`,
  nobody: 'No robot has been heard yet. Robots appear here by themselves after their first step, if '
    + 'they are in the same ROS domain (ROS_DOMAIN_ID).',
  allSilent: 'All robots are silent: the run is over, or they cannot be heard from here. What they '
    + 'said last is shown.',
  still: 'Save picture',
  stillHint: 'save what is shown as a PNG file',
  gif: 'Save GIF',
  gifHint: 'save all that was seen so far as an animation',
  gifStop: (done, all) => `Stop (${done}/${all})`,
  help: '?',
  helpHint: 'keys and gestures',
  close: 'Close',
  stage: 'Maps',
  arrangement: 'Arrangement of maps',
  together: 'One map',
  togetherHint: 'one robot\'s map with all robots in it (m)',
  apart: 'Side by side',
  apartHint: 'every robot\'s map beside the others (m)',
  mapOf: 'Map of',
  layers: 'What is shown',
  layer: {
    scans: ['Scans', 'what each laser sees now (s)'],
    trails: ['Ways', 'where each robot has been (w)'],
    graph: ['Graph', 'who collaborates with whom; the wider a line, the greater the weight (g)'],
    names: ['Names', 'names of robots (n)'],
    truth: ['Truth', 'the true walls laid over the map, where they are known (t)'],
  },
  fit: 'Fit',
  fitHint: 'show the whole building (0)',
  panels: 'Maps: drag to move, wheel or pinch to zoom, arrow keys, plus and minus',
  play: 'Play',
  pause: 'Pause',
  time: 'Time',
  speed: 'Speed of playing',
  toLive: 'Live',
  toEnd: 'End',
  quality: 'F1 of the maps',
  noTruth: 'F1 needs the true map (sim/truth), which is not known here.',
  noScore: 'no map has been scored yet',
  score: (f1) => `${(100 * f1).toFixed(1)} %`,
  scoreAt: (step, mean, rest) => `step ${step}: mean ${mean}${rest ? `; ${rest}` : ''}`,
  chart: (step, mean) => `F1 over steps; at step ${step} the mean is ${mean}`,
  chartAxis: 'step',
  mean: 'mean',
  robots: 'Robots',
  log: 'Log',
  ok: 'well',
  notYet: 'not heard yet',
  warning: 'warning',
  silent: (seconds) => `silent for ${seconds} s`,
  unknown: '–',
  fact: {
    step: ['step', 'time step of DeLAMA done last'],
    peers: ['peers', 'collaborates with / neighbours it expected in the step'],
    rounds: ['rounds', 'rounds of the step in which all neighbours answered in time'],
    late: ['late', 'rounds of the step that were closed by the deadline'],
    bytes: ['sent', 'in the step / in all'],
    refused: ['refused', 'messages that were refused since the start'],
  },
  inAll: (count) => `in all: ${count}`,
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
    ['s  w  g  n  t', 'scans, ways, graph, names, truth'],
    ['arrows, + −, 0', 'move, zoom, fit'],
    ['space', 'play or pause'],
    [', .', 'a second back or on'],
    ['← → in the chart', 'a step back or on'],
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
