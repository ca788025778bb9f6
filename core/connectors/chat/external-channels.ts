import type { Action, Parameters } from '../../action/action.ts'
import { type CanonicalRequest, isRefusal } from '../../request/canonical.ts'
import type { LookUp, LookUpAnswer, LookUps } from '../binding/look-up.ts'
import type { BodyView, Classification } from '../connector.ts'
import { CHANNEL_WRITES } from '../effects/fields/chat.ts'
import { valuesOf } from '../effects/fields/field-rule.ts'
import { CHANNEL_FIELDS } from './channel-fields.ts'

const ACTIONS: ReadonlySet<string> = new Set(CHANNEL_WRITES.map((name) => `chat.${name}`))

/** Reports whether the request may name a channel in a body that the gateway does not read. */
export function hidesChannels({ segments }: CanonicalRequest, body: BodyView | undefined): boolean {
  return (body === undefined || body.kind === 'opaque') && segments.at(-1)?.includes('.') === true
}

/**
 * Adds `egress` as a possible effect class to an action that sends content to a channel, because the members of a
 * channel may belong to another organization. If `isHidden` is true, the request may name any channel, so the class is
 * also added.
 */
export function withExternalChannels(named: Classification, isHidden = false): Classification {
  if (isRefusal(named) || named.kind === 'candidates') return named
  const add = (action: Action): Action => {
    const isPossible = ACTIONS.has(action.type) && (isHidden || channelsOf(action.parameters).length > 0)
    return isPossible ? { ...action, possibleEffects: ['egress'] } : action
  }
  return { ...named, actions: named.actions.map(add) }
}

/**
 * Returns the channels that the parameters name. `files.upload` accepts several channels in one text, separated by
 * commas.
 */
function channelsOf(parameters: Parameters): readonly string[] {
  const values = CHANNEL_FIELDS.flatMap((field) => valuesOf(parameters[field]))
  return values.flatMap((value) => String(value).split(',')).filter((channel) => channel !== '')
}

/**
 * Look-ups that find out whether a channel is shared with another organization. The API resolves neither names nor ids
 * of users, and does not document the response member for direct messages. In these cases the class `egress` applies.
 */
export const CHAT_LOOK_UPS: LookUps = {
  of(action, { request }) {
    if (action.possibleEffects === undefined) return []
    const channels = channelsOf(action.parameters)
    return channels.every((channel) => CHANNEL_ID.test(channel)) ? channels.map(lookUpIn(request)) : []
  },
  complete(action, answers) {
    const { possibleEffects, ...rest } = action
    if (possibleEffects === undefined) return action
    if (answers.length > 0 && answers.every(isInternal)) return rest
    const nameReason = answers.some(isExternal) ? REASON.certain : REASON.unanswered
    return { ...rest, effects: [...(rest.effects ?? []), ...possibleEffects], nameReason }
  },
}

const CHANNEL_ID = /^[CDG][A-Z0-9]{1,31}$/

/** Time in ms for which a response is cached. The time is short, because a channel can be shared at any time. */
const KEPT_MS = 60_000

function lookUpIn({ host, rawSegments }: CanonicalRequest): (channel: string) => LookUp {
  const path = [...rawSegments.slice(0, -1), 'conversations.info'].join('/')
  return (channel) => ({
    name: 'channel',
    method: 'GET',
    host,
    target: `/${path}?channel=${channel}`,
    members: [SHARED, PENDING],
    keepMs: KEPT_MS,
    keptWith: SHARED,
  })
}

const SHARED = ['channel', 'is_ext_shared'] as const
const PENDING = ['channel', 'is_pending_ext_shared'] as const

function isInternal({ values }: LookUpAnswer): boolean {
  return values?.[0] === false && (values[1] === false || values[1] === undefined)
}

function isExternal({ values }: LookUpAnswer): boolean {
  return values?.[0] === true || values?.[1] === true
}

const REASON = {
  certain: 'The channel is shared with another organization, whose users can read it.',
  unanswered:
    'The channel may be shared with another organization, because no look-up at the provider has excluded this.',
} as const
