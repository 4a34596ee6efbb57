/** The longest delay that a timer takes, 24.8 days: a longer one would run at once, and again and again. */
const TIMER_MILLIS_MAX = 2 ** 31 - 1;

export const timerMillis = (millis: number): number => Math.min(millis, TIMER_MILLIS_MAX);
