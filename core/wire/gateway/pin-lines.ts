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

const NOT_FIXED = 'not fixed: the affected resource may change after the approval'

function pinLine({ action_type, state, value, fixed_by }: PinView): string {
  const what = `${state} of ${action_type}`
  switch (fixed_by) {
    case 'gateway':
      return `${what}: ${value} (the gateway compares it again immediately before it sends the request)`
    case 'request':
      return `${what}: ${value} (the request contains it, so the provider refuses any other state)`
    case null:
      return `${what}: not fixed (the state could not be read and may change after the approval)`
    default:
      return `${what}: ${value} (the gateway is newer and fixes this state in a way that this version cannot describe; the state may change after the approval)`
  }
}
