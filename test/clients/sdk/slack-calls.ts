import { WebClient } from '@slack/web-api'
import { methodsBelow, type SdkCall } from './calls.ts'

const QUIET = {
  debug() {},
  info() {},
  warn() {},
  error() {},
  setLevel() {},
  getLevel: () => 'error',
  setName() {},
}

/** Every bound method; it is found where its name says. */
export function slackCalls(fetch: typeof globalThis.fetch): readonly SdkCall[] {
  const options = { fetch, retryConfig: { retries: 0 }, logger: QUIET }
  const client = new WebClient('xoxb-placeholder', options as ConstructorParameters<typeof WebClient>[1])
  return [...methodsBelow(client)]
    .filter(([, { method }]) => method.name === 'bound apiCall')
    .map(([name, { method }]) => ({
      name,
      operation: { method: 'POST', shape: `/api/${name}` },
      invoke: () => method({ channel: 'C1' }),
    }))
}
