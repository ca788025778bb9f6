import { ChaperoneError } from '../../../../core/errors.ts'
import {
  CHANNEL_NAMES,
  CHANNEL_TITLES,
  type ChannelBody,
  type ChannelName,
  type ChannelView,
  type ChatWebhookSettings,
  channelWarning,
  type EmailSettings,
  type TestChannelReply,
  type WebhookSettings,
} from '../../../../core/wire/notifications/notification-channels.ts'
import { MASK } from '../../../../core/wire/settings.ts'
import type { Keyring } from '../../../crypto/keyring.ts'
import { sealedPlace } from '../../../crypto/sealed-places.ts'
import type { Db } from '../../../db/query.ts'
import { validationError } from '../../../http/input.ts'
import { approvalCard } from '../../approvals/card.ts'
import type { Approvals } from '../../approvals/service.ts'
import type { Actor } from '../../audit/actor.ts'
import { recordEvent } from '../../audit/events.ts'
import type { Settings } from '../../settings/service.ts'
import { listUsers } from '../../users/rows.ts'
import type { Deliver, Delivery } from '../delivery.ts'
import { asFailed, errorOf } from '../delivery-error.ts'
import type { PushSubscriptions } from '../push/service.ts'
import { queuePushes } from '../push/store.ts'
import { newEventId } from '../service.ts'
import type { Leased } from '../store.ts'
import { approversOf } from './approvers.ts'
import type { Channel, Notice } from './channel.ts'
import { refuseBrokenTemplate } from './chat-webhook.ts'
import { holdNotice, testNotice } from './notice.ts'
import type { SlackSettings } from './slack.ts'
import {
  type ChannelRow,
  deleteChannel,
  listChannels,
  putChannel,
  queueNotices,
  recordAttempt,
} from './store.ts'

/** Settings of each channel by name. */
export type ChannelSettings = {
  readonly slack: SlackSettings
  readonly email: EmailSettings
  readonly webhook: WebhookSettings
  readonly chat_webhook: ChatWebhookSettings
  /** Web Push has no settings, because users add their own browsers. */
  readonly web_push: object
}
export type Channels = { readonly [N in ChannelName]: Channel<ChannelSettings[N]> }

export type NotificationChannels = {
  list(): Promise<readonly ChannelView[]>
  /** Replaces the settings of a channel; null removes the channel. Masked secrets keep their stored values. */
  put(by: Actor, body: ChannelBody): Promise<void>
  /**
   * Sends a test message, and records an audit event that names the user. The reply contains the error of the
   * receiver; null after a delivery.
   */
  test(by: Actor, name: ChannelName): Promise<TestChannelReply>
  /** Returns a sentence for each configured channel whose last attempt failed. */
  warnings(): Promise<readonly string[]>
  /** Queues the notices that are due. */
  prepare(): Promise<void>
  /** Delivers one queued notice. */
  readonly deliver: Deliver
  /** Wraps the delivery of a channel. The wrapper stores the result of each attempt as the health of the channel. */
  observed(name: ChannelName, deliver: Deliver): Deliver
}

export type ChannelsDeps = {
  readonly db: Db
  readonly orgId: string
  readonly keyring: Keyring
  readonly settings: Pick<Settings, 'read'>
  readonly approvals: Pick<Approvals, 'get'>
  readonly channels: Channels
  readonly push: Pick<PushSubscriptions, 'deliver' | 'isUsed'>
  readonly dashboardUrl: string | null
}

/** Channels for which no settings are stored: Slack uses the settings of the chat, Web Push has none. */
const HAS_NO_SETTINGS: ReadonlySet<ChannelName> = new Set(['slack', 'web_push'])

/** Names of the settings whose values are masked in replies. */
const SECRETS = new Set(['password', 'url'])

export function createNotificationChannels(deps: ChannelsDeps): NotificationChannels {
  const { db, orgId } = deps
  const observed = (name: ChannelName, deliver: Deliver): Deliver => {
    return async (message, signal) => {
      const delivery = await deliver(message, signal).catch(asFailed)
      if (!signal.aborted) await recordDelivery(deps, name, delivery)
      return delivery
    }
  }
  return {
    list: () => views(deps),
    put: (by, body) => put(deps, by, body),
    async test(by, name) {
      const delivery = await sendTest(deps, name)
      const ok = delivery.outcome === 'delivered'
      const details = { change: 'channel.tested', channel: name, ok }
      await recordEvent(db, { orgId, actor: by, type: 'settings.updated', details })
      await recordDelivery(deps, name, delivery)
      return { ok, error: errorOf(delivery) }
    },
    async warnings() {
      const failing = (await views(deps)).filter(({ state }) => state === 'failing')
      return failing.map(({ name }) => channelWarning(name))
    },
    prepare: async () => {
      await queueNotices(db, orgId)
      await queuePushes(db, orgId)
    },
    deliver: async (message, signal) => {
      const name = channelOf(message)
      return observed(name, (one, until) => deliverNotice(deps, name, one, until))(message, signal)
    },
    observed,
  }
}

async function views(deps: ChannelsDeps): Promise<readonly ChannelView[]> {
  const rows = await listChannels(deps.db, deps.orgId)
  return Promise.all(
    CHANNEL_NAMES.map(async (name) => {
      const row = rows.find((one) => one.name === name)
      const settings = await settingsOf(deps, name, row)
      return {
        name,
        state: settings === null ? ('off' as const) : stateOf(row),
        settings: settings === null || HAS_NO_SETTINGS.has(name) ? null : masked(settings),
        last_delivered_at: row?.lastDeliveredAt?.toISOString() ?? null,
        last_failed_at: row?.lastFailedAt?.toISOString() ?? null,
        last_error: row?.lastError ?? null,
      }
    }),
  )
}

function stateOf(row: ChannelRow | undefined): ChannelView['state'] {
  const [delivered, failed] = [row?.lastDeliveredAt ?? null, row?.lastFailedAt ?? null]
  if (failed !== null && (delivered === null || failed > delivered)) return 'failing'
  return delivered === null ? 'unproven' : 'ok'
}

/** Returns the settings of a channel; null when the channel is not configured. */
async function settingsOf<N extends ChannelName>(
  deps: ChannelsDeps,
  name: N,
  row: ChannelRow | undefined,
): Promise<ChannelSettings[N] | null> {
  if (name === 'slack') return (await slackSettings(deps)) as ChannelSettings[N] | null
  if (name === 'web_push') return (await deps.push.isUsed()) ? ({} as ChannelSettings[N]) : null
  if (row?.config == null) return null
  return JSON.parse(
    deps.keyring.open(row.config, sealedPlace.notificationChannel(name)),
  ) as ChannelSettings[N]
}

async function slackSettings({ settings }: ChannelsDeps): Promise<SlackSettings | null> {
  const [token, channel] = [await settings.read('chat_bot_token'), await settings.read('chat_channel_id')]
  return token === null || channel === null ? null : { token, channel }
}

async function put(deps: ChannelsDeps, by: Actor, { name, settings }: ChannelBody): Promise<void> {
  const { db, orgId, keyring } = deps
  const stored = (await listChannels(db, orgId)).find((row) => row.name === name)
  const before = await settingsOf(deps, name, stored)
  if (settings !== null) refuseOtherServer(settings, before)
  const merged = settings === null ? null : checked(name, withStored(settings, before))
  await db.tx(async (q) => {
    if (merged === null) await deleteChannel(q, orgId, name)
    else
      await putChannel(
        q,
        orgId,
        name,
        keyring.seal(JSON.stringify(merged), sealedPlace.notificationChannel(name)),
      )
    const details = { keys: [`channel_${name}`] }
    await recordEvent(q, { orgId, actor: by, type: 'settings.updated', details })
  })
}

/**
 * Throws `validation` when a stored password would be sent to a server other than the one for which the password was
 * entered. Otherwise, a user who may change settings could learn the password.
 */
function refuseOtherServer(settings: object, before: object | null): void {
  const [given, stored] = [settings, before ?? {}].map((each) => each as Readonly<Record<string, unknown>>)
  if (given?.['password'] !== MASK || !stored?.['password']) return
  if (given['host'] === stored['host'] && given['port'] === stored['port']) return
  throw validationError([
    `settings.password: was entered for ${stored['host']}:${stored['port']}; enter the password of ${given['host']}:${given['port']}`,
  ])
}

/** Replaces masked values by the stored values. */
function withStored(settings: object, before: object | null): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(settings).map(([key, value]) => [
      key,
      value === MASK ? ((before as Record<string, unknown> | null)?.[key] ?? '') : value,
    ]),
  )
}

/** Throws `validation` for settings with which the channel cannot deliver. */
function checked(name: ChannelBody['name'], settings: Record<string, unknown>) {
  if (name === 'email') {
    if (settings['tls'] === 'none' && settings['password'])
      throw validationError(['settings.password: cannot be sent without TLS; choose starttls or implicit'])
    return settings
  }
  const url = String(settings['url'])
  if (!URL.canParse(url) || !/^https?:$/.test(new URL(url).protocol))
    throw validationError(['settings.url: is not an http or https URL'])
  if (name === 'chat_webhook') refuseBrokenTemplate(settings as ChatWebhookSettings)
  return settings
}

async function sendTest(deps: ChannelsDeps, name: ChannelName): Promise<Delivery> {
  const row = (await listChannels(deps.db, deps.orgId)).find((one) => one.name === name)
  const settings = await settingsOf(deps, name, row)
  if (settings === null) {
    throw new ChaperoneError('conflict', {
      detail: `The channel ${CHANNEL_TITLES[name]} is not configured, so there is nothing to test. Save its settings first.`,
    })
  }
  const approvers = (await listUsers(deps.db))
    .filter(({ status, role }) => status === 'active' && role !== 'viewer')
    .map(({ email }) => email)
  const notice = testNotice({ id: newEventId(), at: new Date(), dashboardUrl: deps.dashboardUrl, approvers })
  return sendBy(deps.channels, { name, settings }, notice, AbortSignal.timeout(TEST_MS)).catch(asFailed)
}

/** Time limit of a test message in milliseconds. */
const TEST_MS = 15_000

async function deliverNotice(
  deps: ChannelsDeps,
  name: ChannelName,
  message: Leased,
  signal: AbortSignal,
): Promise<Delivery> {
  if (name === 'web_push') return deps.push.deliver(message, signal)
  const stored = (await listChannels(deps.db, deps.orgId)).find((row) => row.name === name)
  const settings = await settingsOf(deps, name, stored)
  if (settings === null) return { outcome: 'obsolete', why: 'the channel is no longer configured' }
  const row = await deps.approvals.get(message.subjectId)
  const event = message.event === 'approval.ended' ? 'approval.ended' : 'approval.opened'
  if (row === undefined || (event === 'approval.opened' && (row.status !== 'pending' || row.isOverdue)))
    return { outcome: 'obsolete', why: 'the approval has ended' }
  const card = approvalCard(row)
  const notice = holdNotice(card, event, {
    id: message.eventId,
    at: message.leasedAt,
    dashboardUrl: deps.dashboardUrl,
    approvers: approversOf(await listUsers(deps.db), card).map(({ email }) => email),
  })
  return sendBy(deps.channels, { name, settings }, notice, signal)
}

function sendBy(
  channels: Channels,
  { name, settings }: { readonly name: ChannelName; readonly settings: ChannelSettings[ChannelName] },
  notice: Notice,
  signal: AbortSignal,
): Promise<Delivery> {
  // The cast is safe: settings and channel were both read by `name`.
  return (channels[name] as Channel<unknown>).send(settings, notice, signal)
}

async function recordDelivery(
  { db, orgId }: ChannelsDeps,
  name: ChannelName,
  delivery: Delivery,
): Promise<void> {
  if (delivery.outcome === 'obsolete' || delivery.outcome === 'slow_down') return
  await recordAttempt(db, orgId, { name, error: errorOf(delivery) })
}

function channelOf({ receiver }: Leased): ChannelName {
  const name = CHANNEL_NAMES.find((one) => one === receiver)
  if (name === undefined) throw new Error(`there is no channel ${receiver}`)
  return name
}

function masked(settings: object): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(settings).map(([key, value]) => [key, SECRETS.has(key) && value !== '' ? MASK : value]),
  )
}
