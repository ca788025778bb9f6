import { MAX_PINS, type Pin } from '../../../core/connectors/binding/pin.ts'
import type { PinView } from '../../../core/wire/gateway/internal.ts'
import { lookUpContextOf } from '../look-up-context.ts'
import type { Decided, Evaluated } from '../phases.ts'
import type { PipelinePorts } from '../ports.ts'

/**
 * A pin with its current state. `value` is null when the read failed, or when the request itself contains the state.
 */
export type ReadPin = { readonly pin: Pin; readonly value: string | null }

/**
 * Reads the state on which the request acts, with the credential of the connector. Returns no pins while the action is
 * undetermined among candidates.
 */
export async function readPins(
  exchange: Evaluated,
  { lookUps }: Pick<PipelinePorts, 'lookUps'>,
): Promise<readonly ReadPin[]> {
  if (exchange.connector === undefined) return []
  const read = async (pin: Pin): Promise<ReadPin> => ({ pin, value: await readState(pin, exchange, lookUps) })
  return Promise.all(pinsOf(exchange).map(read))
}

function pinsOf({ connector, request, named }: Decided): readonly Pin[] {
  const table = connector.connector.pins
  if (table === undefined || named.kind !== 'actions') return []
  const place = { request, config: connector.config }
  return named.actions.flatMap((action) => table.of(action, place)).slice(0, MAX_PINS)
}

/** Reads the state of one pin. Returns the first answer of its look-ups; null when no look-up has an answer. */
async function readState(
  { reads }: Pin,
  exchange: Decided,
  lookUps: PipelinePorts['lookUps'],
): Promise<string | null> {
  for (const read of reads) {
    const [value] = (await lookUps.ask(lookUpContextOf(exchange), read)) ?? []
    if (typeof value === 'string' && value !== '') return value
  }
  return null
}

/** Returns the pins as the approval card shows them. */
export function pinViews(pins: readonly ReadPin[]): PinView[] {
  return pins.map(({ pin: { actionType, state, given }, value }) => {
    const what = { action_type: actionType, state }
    if (given !== undefined) return { ...what, value: given.slice(0, MAX_VALUE), fixed_by: 'request' }
    return { ...what, value, fixed_by: value === null ? null : 'gateway' }
  })
}

const MAX_VALUE = 500

/** Returns the part of the pins that is hashed into the approval binding. */
export function pinnedStates(
  pins: readonly ReadPin[],
): readonly (readonly [string, string, string | null])[] {
  return pins.map(({ pin, value }) => [pin.actionType, pin.state, value])
}

/** Returns a sentence about the first state that changed since the approval; null when no state changed. */
export function changedState(before: readonly ReadPin[], now: readonly ReadPin[]): string | null {
  for (const [at, { pin, value }] of before.entries()) {
    const current = now[at]
    if (value === null || (current?.pin.state === pin.state && current.value === value)) continue
    const known = current?.value ?? null
    return known === null
      ? `The ${pin.state} of ${pin.actionType} (${value} at the time of the approval) could not be read again.`
      : `The ${pin.state} of ${pin.actionType} was ${value} at the time of the approval and is now ${known}.`
  }
  return null
}
