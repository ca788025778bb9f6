import { expect, test } from 'vitest'
import { installationChecks } from '../../../../controlplane/cli/doctor/installation-checks.ts'
import { channelWarning } from '../../../../core/wire/notifications/notification-channels.ts'

const OTHER = 'DATABASE_URL leads to a connection pooler.'
const FAILING = { name: 'email', state: 'failing', last_error: 'mail.example:25 ECONNREFUSED' }

function apiOf(channels: { readonly status: number; readonly body: unknown }) {
  return {
    send: async (_method: string, path: string) =>
      path === '/api/dashboard/overview'
        ? { status: 200, body: { warnings: [OTHER, channelWarning('email')] } }
        : channels,
  } as never
}

test('a failing channel is reported once, with its error', async () => {
  const checks = await installationChecks(apiOf({ status: 200, body: { channels: [FAILING] } }))
  expect(checks).toEqual([
    { name: 'installation', state: 'warning', found: OTHER },
    {
      ...{ name: 'notifications: email', state: 'warning', found: FAILING.last_error },
      remedy: 'correct it under Settings, Channels',
    },
  ])
})

test('without the right to read channels the warning of Overview remains', async () => {
  const checks = await installationChecks(apiOf({ status: 403, body: { error: 'forbidden' } }))
  expect(checks).toEqual([
    { name: 'installation', state: 'warning', found: OTHER },
    { name: 'installation', state: 'warning', found: channelWarning('email') },
  ])
})
