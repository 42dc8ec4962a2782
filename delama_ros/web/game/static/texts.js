// Every sentence of the game, in one place.

export const TEXTS = {
  title: 'Lines together',
  offline: 'The connection is lost. Trying again; what you have submitted is safe.',

  guide: {
    heading: 'How to play',
    lead: 'Four players look for hidden straight lines. There are two lines, and each player looks '
      + 'for one of them: some of the others look for the same line as you, some for the other one. '
      + 'Some of them may be computer agents.',
    steps: [
      ['Learn', 'You see a few noisy points of your line. Draw the line you think they come from. '
        + 'Every round shows new points, so remember the old ones.'],
      ['Collaborate', 'You see the lines the others drew. Rate each of them from 0 to 5: how much '
        + 'do you want to build on it? Then change your line, or keep it.'],
      ['Result', 'You are told how far your line is from the true one: the loss. Smaller is '
        + 'better.'],
    ],
    end: 'After three rounds the true lines and all players are shown. Your answers are stored for '
      + 'research, under the name that you choose here.',
  },

  enter: {
    name: 'Your name',
    quality: 'Points',
    qualities: {
      high: 'High quality: many, exact',
      medium: 'Medium quality',
      low: 'Low quality: few, noisy, close together',
    },
    people: 'People',
    crowd: ['Just me, and three agents', 'Two people, and two agents',
      'Three people, and an agent', 'Four people'],
    play: 'Play',
  },

  waiting: {
    heading: 'Waiting for players',
    missing: (n) => (n === 1 ? 'One player is still missing.' : `${n} players are still missing.`),
    hint: 'They open the same address and choose the same points and number of people.',
    you: '(you)',
    start: 'Start now',
    startHint: 'Agents take the free seats.',
    leave: 'Leave',
  },

  round: (t, of) => `Round ${t} of ${of}`,
  time: (text) => `${text} left`,

  learn: {
    heading: 'Draw your line',
    hint: 'Drag across the plot to draw a line through the points. Then drag the two handles to '
      + 'adjust it.',
    keys: 'With the keyboard: Enter on the plot places a line, arrow keys move the handles.',
    last: 'Dashed: your line from the last round.',
    submit: 'Submit my line',
  },

  aggregate: {
    heading: 'Look at the others',
    hint: 'Rate each line: how much do you want to build on it? Then change yours, or keep it.',
    scale: '0: not at all, 5: as much as I can',
    alone: 'Nobody else answered in this round.',
    rating: (name) => `Rating for ${name}`,
    missing: 'Rate every line first.',
    submit: 'Submit rating and line',
  },

  plot: {
    label: 'Plot of your points and lines',
    left: 'Left end of your line',
    right: 'Right end of your line',
    undo: 'Undo',
    empty: 'Draw a line first.',
    equation: (slope, offset) => `y = ${slope < 0 ? '−' : ''}${Math.abs(slope).toFixed(2)} x `
      + `${offset < 0 ? '−' : '+'} ${Math.abs(offset).toFixed(2)}`,
  },

  submitted: (n) => (n === 0 ? 'Submitted.'
    : `Submitted. Waiting for ${n === 1 ? 'one more player' : `${n} more players`}.`),

  result: {
    heading: 'Your loss',
    none: 'You did not answer in time.',
    unit: 'mean squared distance from the true line',
    better: (before) => `Before you saw the other lines it was ${before}: they helped you.`,
    worse: (before) => `Before you saw the other lines it was ${before}: this time they did not help.`,
    same: 'You kept your own line.',
    legend: 'Your line after collaboration; dashed: what you drew alone.',
    rounds: 'Your rounds so far',
    received: 'Ratings your line received',
    nobody: 'none',
    next: 'Next round',
    last: 'Show the true lines',
  },

  final: {
    heading: 'The true lines',
    leaderboard: 'Leaderboard',
    order: 'Sorted by the loss of the last round.',
    player: 'Player',
    loss: 'Loss in round',
    round: (t) => `Round ${t}`,
    line: 'Line',
    yours: 'yours',
    other: 'other',
    agent: 'agent',
    you: 'you',
    none: '–',
    again: 'Play again',
    legend: 'Thick grey: your true line. Thin grey: the other one. Dashed: what you drew alone. '
      + 'In colour: everybody’s line after collaboration.',
  },

  // Players are known by colour and mark until the end.
  seats: ['Blue circle', 'Orange square', 'Green triangle', 'Pink diamond'],

  errors: {
    answered: 'You have already submitted this.',
    begun: 'The game has already started.',
    full: 'That game is full. Try again.',
    invalid: 'Invalid name: use 1 to 24 ordinary characters.',
    line: 'This line is too steep or too far away.',
    playing: 'You are already in a game.',
    ratings: 'Rate every line first.',
    slow: 'Too many requests. Wait a moment.',
    stage: 'The game has moved on.',
    unknown: 'You are not in a game. Enter your name again.',
    network: 'The server cannot be reached. Try again.',
  },
};
