import { afterAll, beforeAll, expect, test } from 'vitest'
import { portAgent } from '../support/agent.ts'
import { type AgentLine, connectLine } from '../support/agent-line.ts'
import { type Everything, startEverything } from '../support/every-connector.ts'
import { type Laptop, startLaptop } from '../support/laptop.ts'

const HOST = 'api.generic.test'
const LONG = 'x'.repeat(9 * 1024 * 1024)
const JSON_TYPE = 'application/json'
const PARTS = 'multipart/form-data; boundary=b'

let everything: Everything
let laptop: Laptop
const lines = new Map<string, AgentLine>()

/** `mixed` may post and nothing else; `open` may do everything, so that another method changes nothing. */
beforeAll(async () => {
  everything = await startEverything({
    rules: {
      mixed: [['generic', 'generic.post', 'allow']],
      open: [['generic', 'generic.*', 'allow']],
    },
  })
  laptop = await startLaptop({ database: 'worker', manifests: { 'everything.yaml': everything.manifests } })
  for (const name of ['mixed', 'open']) lines.set(name, connectLine((await portAgent(laptop, name)).target))
})
afterAll(async () => {
  for (const line of lines.values()) line.close()
  await laptop?.stop()
  await everything?.recorder.close()
})

/** Status and what the upstream saw of it. */
async function post(agent: string, type: string, body: string) {
  const before = everything.recorder.seen.length
  const headers = [['Content-Type', type]] as const
  const answer = await lines
    .get(agent)
    ?.send({ method: 'POST', host: HOST, target: '/things/7', headers, body })
  return {
    status: answer?.status,
    bytes: everything.recorder.seen.slice(before).map((seen) => seen.body.length),
  }
}

const part = (name: string, value: string) =>
  `--b\r\nContent-Disposition: form-data; name="${name}"\r\n\r\n${value}\r\n--b--\r\n`

test.each([
  ['JSON', JSON_TYPE, '{"_method":"DELETE"}', 400],
  ['a form', 'application/x-www-form-urlencoded', 'a=b&_method=DELETE', 400],
  ['a multipart form', PARTS, part('_method', 'DELETE'), 400],
  ['JSON that is too long to be read', JSON_TYPE, `{"a":"${LONG}","_method":"DELETE"}`, 413],
  ['a multipart form that is too long to be read', PARTS, part('a', LONG), 413],
  ['encoded JSON', `${JSON_TYPE}; charset=utf-16`, '{"a":1}', 415],
])('where another method is refused, %s that names one never arrives', async (_name, type, body, status) => {
  expect(await post('mixed', type, body)).toEqual({ status, bytes: [] })
})

test.each([
  ['mixed', 'JSON', JSON_TYPE, '{"payment_method":"card","a":{"_method":1}}'],
  ['mixed', 'no JSON', JSON_TYPE, 'hello'],
  ['mixed', 'text of any length', 'text/plain', LONG],
  ['mixed', 'a multipart form', PARTS, part('payment_method', 'card')],
  ['open', 'JSON of any length', JSON_TYPE, `{"a":"${LONG}"}`],
  ['open', 'a multipart form of any length', PARTS, part('a', LONG)],
])('%s passes %s that names none', async (agent, _name, type, body) => {
  expect(await post(agent, type, body)).toEqual({ status: 200, bytes: [Buffer.byteLength(body)] })
})
