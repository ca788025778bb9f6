import { gzipSync } from 'node:zlib'
import { describe, expect, it } from 'vitest'
import { chat } from '../../../core/connectors/chat.ts'
import { approvalsChannelPolicy } from '../../../core/decision/policies/approvals-channel.ts'
import { expectRefused, start } from './pipeline-world.ts'

const CHANNEL = 'C0APPROVALS'
const TEXT = JSON.stringify({ channel: CHANNEL })
const PART = `--x\r\nContent-Disposition: form-data; name="channel"\r\n\r\n${CHANNEL}\r\n--x--\r\n`
const JSON_TYPE = 'application/json'

type Body = readonly [headers: readonly string[], body: string | Buffer]

/** Bodies that name the channel, in which some servers find it and the gateway does not. */
const UNREADABLE: Record<string, Body> = {
  'a multipart form': [['Content-Type', 'multipart/form-data; boundary=x'], PART],
  'a multipart form of another kind': [['Content-Type', 'multipart/mixed; boundary=x'], PART],
  'JSON as text': [['Content-Type', 'text/plain'], TEXT],
  'JSON by an old label': [['Content-Type', 'text/json'], TEXT],
  'JSON by another old label': [['Content-Type', 'application/x-json'], TEXT],
  'JSON without a label': [[], TEXT],
  'a form as text': [['Content-Type', 'text/plain'], `channel=${CHANNEL}`],
  'a form without a label': [[], `channel=${CHANNEL}`],
  XML: [['Content-Type', 'application/xml'], `<channel>${CHANNEL}</channel>`],
  bytes: [['Content-Type', 'application/octet-stream'], TEXT],
  'compressed JSON': [['Content-Type', JSON_TYPE, 'Content-Encoding', 'gzip'], gzipSync(TEXT)],
  'JSON in UTF-16': [['Content-Type', `${JSON_TYPE}; charset=utf-16le`], Buffer.from(TEXT, 'utf16le')],
  'JSON in a list': [['Content-Type', JSON_TYPE], `[${TEXT}]`],
  'JSON in a string': [['Content-Type', JSON_TYPE], JSON.stringify(TEXT)],
  'JSON behind a comment': [['Content-Type', JSON_TYPE], `/**/${TEXT}`],
  'JSON with the channel given twice': [
    ['Content-Type', JSON_TYPE],
    `{"channel":"C0OTHER","channel":"${CHANNEL}"}`,
  ],
  'JSON with the channel in capitals beside it': [
    ['Content-Type', JSON_TYPE],
    `{"channel":"C0OTHER","CHANNEL":"${CHANNEL}"}`,
  ],
}

/** Operations whose body is a file, in which the chat looks for no channel. */
const FILES = ['/upload/v1/{ticket+}', '/api/users.setPhoto']
const TARGETS = (chat.catalogue ?? [])
  .map(({ template = '' }) => template)
  .filter((template) => !FILES.includes(template))
  .map((template) => template.replace('{path+}', 'a/b'))

/** So many refusals of an agent have a record of their own; further ones are counted in one. */
const OWN_RECORDS = 50

const world = () =>
  start({
    connectors: [{ id: 'conn_chat', name: 'chat', type: 'chat', domains: ['slack.com'] }],
    permissions: [['chat.*', 'allow']],
    policies: [{ ...approvalsChannelPolicy(CHANNEL) }],
  })

describe('an unreadable body that names the approval channel', () => {
  it.each(Object.entries(UNREADABLE))('%s is refused for every method', async (_name, [headers, body]) => {
    let here = await world()
    for (const [n, target] of TARGETS.entries()) {
      if (n % OWN_RECORDS === 0) here = await world()
      const method = n % 2 === 0 ? 'POST' : 'GET'
      const { reply } = await here.send({ method, host: 'slack.com', target, headers, body })
      expect([400, 403, 415], `${method} ${target}: ${reply.status}`).toContain(reply.status)
      expectRefused(here)
      here.records.length = 0
    }
  })

  it.each(FILES)('%s takes a file all the same', async (template) => {
    const here = await world()
    const target = template.replace('{ticket+}', 'abc')
    const headers = ['Content-Type', 'image/png']
    const { reply } = await here.send({ method: 'POST', host: 'slack.com', target, headers, body: 'png' })
    expect(reply.status, reply.text()).toBe(200)
    expect(here.upstream.seen).toHaveLength(1)
  })
})
