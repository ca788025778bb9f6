import type { PinView } from './internal.ts'

/**
 * Returns the lines of an approval card about the state of the target, one for each state. Never returns an empty
 * list.
 */
export function pinLines({
  pins = [],
}: {
  readonly pins?: readonly PinView[] | undefined
}): readonly string[] {
  return pins.length === 0 ? [NOT_FIXED] : pins.map(pinLine)
}

const NOT_FIXED = 'not fixed: the affected state may change after the answer'

function pinLine({ action_type, state, value, fixed_by }: PinView): string {
  const what = `${state} of ${action_type}`
  switch (fixed_by) {
    case 'gateway':
      return `${what}: ${value}, compared again right before the request is sent`
    case 'request':
      return `${what}: ${value}, named by the request, so that the provider refuses any other`
    case null:
      return `${what}: not fixed, it could not be read and may change after the answer`
  }
}
