import { afterAll, beforeAll, expect, test } from 'vitest'
import { startTestInstallation, type TestInstallation } from '../routes/installation.ts'
import { at } from '../routes/start.ts'

let here: TestInstallation
beforeAll(async () => {
  here = await startTestInstallation()
})
afterAll(() => here?.[Symbol.asyncDispose]())

const path = '/api/dashboard/settings'
const stored = () => here.sql('select key, value::text as value from settings order by key')

test('all settings as they are shown can be written back, and nothing changes', async () => {
  const settings = {
    chat_bot_token: 'xoxb-1',
    chat_signing_secret: 's-1',
    chat_channel_id: 'C1',
    codehost_pat: 'ghp_1',
    gateway_url: 'http://127.0.0.1:9443',
  }
  expect((await here.admin('PUT', path, { settings })).body).toEqual({ ok: true })
  await here.admin('POST', `${path}/webhook-secret`)
  const shown = await here.admin('GET', path)
  expect(at(shown.body, 'settings')).toMatchObject({
    chat_bot_token: '********',
    chat_signing_secret: '********',
    chat_channel_id: 'C1',
    codehost_pat: '********',
    gateway_url: 'http://127.0.0.1:9443',
  })
  const before = await stored()
  const back = await here.admin('PUT', path, { settings: at(shown.body, 'settings') })
  expect(back.body).toEqual({ ok: true })
  const clear = (rows: Record<string, unknown>[]) => rows.filter(({ key }) => key !== 'chat_channel_id')
  expect(clear(await stored())).toEqual(clear(before))
})

test('settings merge, an empty text removes one, and an unknown name is refused with the others', async () => {
  expect((await here.admin('PUT', path, { settings: { chat_channel_id: 'C2' } })).status).toBe(200)
  expect(at((await here.admin('GET', path)).body, 'settings')).toMatchObject({
    chat_channel_id: 'C2',
    codehost_pat: '********',
  })
  await here.admin('PUT', path, { settings: { codehost_pat: '' } })
  expect(at((await here.admin('GET', path)).body, 'settings')).not.toHaveProperty('codehost_pat')
  const before = await stored()
  const chosen = await here.admin('PUT', path, { settings: { webhook_secret: 'whsec_mine' } })
  expect(at(chosen.body, 'details')).toMatch(/^settings\.webhook_secret: cannot be set/)
  const wrong = await here.admin('PUT', path, { settings: { chat_channel_id: 'C3', chat_chanel: 'x' } })
  expect(wrong).toMatchObject({
    status: 400,
    body: { details: 'settings.chat_chanel: is not a known field' },
  })
  expect(await stored()).toEqual(before)
})

test('two changes at once are both kept', async () => {
  await Promise.all(
    [...Array(10)].map((_, n) =>
      here.admin('PUT', path, {
        settings: n % 2 ? { chat_channel_id: 'C9' } : { gateway_url: 'http://127.0.0.1:9' },
      }),
    ),
  )
  expect(at((await here.admin('GET', path)).body, 'settings')).toMatchObject({
    chat_channel_id: 'C9',
    gateway_url: 'http://127.0.0.1:9',
  })
})
