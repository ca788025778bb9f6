import { CHANNEL_ID } from '../../../core/decision/policies/approvals-channel.ts'
import { MASK, PLAIN_SETTINGS, type SettingKey } from '../../../core/wire/settings.ts'
import { sealedPlace } from '../../crypto/sealed-places.ts'
import { bumpVersion } from '../../db/config-version.ts'
import type { Db, Query } from '../../db/query.ts'
import { validationError } from '../../http/input.ts'
import type { Actor } from '../audit/actor.ts'
import { recordEvent } from '../audit/events.ts'
import { type ApprovalsBotDeps, refuseConnectorsBot } from '../chat/bot/bot.ts'
import { getSetting, readSetting } from './rows.ts'
import { deleteSetting, listSettings, putSetting, type StoredSetting } from './store.ts'

export type Settings = {
  /** Returns the settings. Secret values are replaced by `MASK`. */
  masked(): Promise<Readonly<Record<string, string>>>
  /** Merges the values into the stored settings. An empty string deletes a setting. */
  update(by: Actor, values: Partial<Readonly<Record<SettingKey, string | undefined>>>): Promise<void>
  /** Returns the value in plain text; null when the setting has no value. */
  read(key: SettingKey, q?: Query): Promise<string | null>
  /** Returns the address of the gateway that executes actions of agents without a gateway; null when not set. */
  gatewayUrl(q: Query): Promise<string | null>
  /** Returns the chat channel for approval cards, and the token of the bot that posts the cards. */
  approvalsChat(q: Query): Promise<{ readonly channel: string | null; readonly botToken: string | null }>
}

type SettingsDeps = { readonly db: Db } & ApprovalsBotDeps

export function createSettings({ db, orgId, keyring, identifyBot }: SettingsDeps): Settings {
  const store = async (q: Query, [key, value]: readonly [string, string]) => {
    if (value === '') return deleteSetting(q, orgId, key)
    return putSetting(q, orgId, {
      key,
      value: PLAIN_SETTINGS.has(key) ? value : keyring.seal(value, sealedPlace.setting(key)),
    })
  }
  const read = (key: SettingKey, q: Query = db) => readSetting(q, { orgId, keyring }, key)
  return {
    async masked() {
      const stored = await listSettings(db, orgId)
      return Object.fromEntries(
        stored.map(({ key, value }) => [key, typeof value === 'string' ? value : MASK]),
      )
    },
    async update(by, values) {
      const changes = Object.entries(values).flatMap(([key, value]) =>
        value === undefined || value === MASK ? [] : [[key, value] as const],
      )
      if (changes.length === 0) return
      const token = changes.find(([key]) => key === 'chat_bot_token')?.[1] ?? ''
      if (token !== '') await refuseConnectorsBot(db, { orgId, keyring, identifyBot }, token)
      await db.tx(async (q) => {
        await refuseChannelName(q, orgId, values.chat_channel_id)
        for (const change of changes) await store(q, change)
        const keys = changes.map(([key]) => key)
        await recordEvent(q, { orgId, actor: by, type: 'settings.updated', details: { keys } })
        // The settings include credentials for gateways, so a change raises the version of the configuration.
        await bumpVersion(q)
      })
    },
    read,
    gatewayUrl: (q) => read('gateway_url', q),
    approvalsChat: async (q) => ({
      channel: await read('chat_channel_id', q),
      botToken: await read('chat_bot_token', q),
    }),
  }
}

/**
 * Throws for a channel name instead of a channel id. Policies keep agents out of the approvals channel by its id, so
 * a name would not protect the channel. A channel name that an earlier version stored is accepted.
 */
async function refuseChannelName(q: Query, orgId: string, channel: string | undefined): Promise<void> {
  if (channel === undefined || channel === '' || CHANNEL_ID.test(channel)) return
  if ((await getSetting(q, orgId, 'chat_channel_id')) === channel) return
  throw validationError([
    'settings.chat_channel_id: is not the id of a channel (C…); copy the id from the details of the channel in the chat',
  ])
}

/** Stores a setting that another feature owns, in the caller's transaction. The caller records the audit event. */
export function storeSetting(q: Query, orgId: string, setting: StoredSetting): Promise<void> {
  return putSetting(q, orgId, setting)
}
