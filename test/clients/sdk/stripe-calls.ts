import Stripe from 'stripe'
import { MADE_UP, methodsBelow, parametersOf, type SdkCall } from './calls.ts'

const REQUEST = /_makeRequest\(\s*'([A-Z]+)',\s*[`']([^`']*)[`']/
const FILE = {
  purpose: 'dispute_evidence',
  file: { data: Buffer.from('x'), name: 'x.txt', type: 'text/plain' },
}

/** Every method that sends a request itself, as all generated ones do. */
export function stripeCalls(fetch: typeof globalThis.fetch): readonly SdkCall[] {
  const stripe = new Stripe('sk_test_placeholder', {
    httpClient: Stripe.createFetchHttpClient(fetch),
    maxNetworkRetries: 0,
    telemetry: false,
  })
  return [...methodsBelow(stripe)].flatMap(([name, { owner, method }]) => {
    const found = REQUEST.exec(Function.prototype.toString.call(method))
    if (found === null) return []
    const [, verb = '', path = ''] = found
    const shape = path.replaceAll(/\$\{[^}]*\}/g, '{}')
    const args = parametersOf(method).map((parameter) => argumentFor(name, parameter))
    return [{ name, operation: { method: verb, shape }, invoke: () => Reflect.apply(method, owner, args) }]
  })
}

function argumentFor(name: string, parameter: string): unknown {
  if (parameter === 'options')
    return name === 'ephemeralKeys.create' ? { apiVersion: '2025-01-01' } : undefined
  if (parameter !== 'params') return MADE_UP
  return name === 'files.create' ? FILE : {}
}
