import Anthropic from '@anthropic-ai/sdk'
import OpenAI from 'openai'
import { argumentsWith, MADE_UP, methodsBelow, parametersOf, type SdkCall } from './calls.ts'

/** A generated method of either library asks the client itself, and the path stands in it. */
const REQUEST =
  /this\._client\s*\.(get|post|put|patch|delete|getAPIList)\(\s*(?:\(\s*0\s*,\s*[\w$.]+\)|[\w$.]*path)?\s*[`']([^`']*)[`']/

export function openaiCalls(fetch: typeof globalThis.fetch): readonly SdkCall[] {
  const client = new OpenAI({ apiKey: 'placeholder', adminAPIKey: 'placeholder', maxRetries: 0, fetch })
  return callsOf(client, '/v1')
}

export function anthropicCalls(fetch: typeof globalThis.fetch): readonly SdkCall[] {
  return callsOf(new Anthropic({ apiKey: 'placeholder', maxRetries: 0, fetch }), '')
}

function callsOf(client: object, base: string): readonly SdkCall[] {
  return [...methodsBelow(client)].flatMap(([name, { owner, method }]) => {
    const text = Function.prototype.toString.call(method)
    const found = REQUEST.exec(text)
    if (found === null) return []
    const [, verb = '', path = ''] = found
    const listed = /\bmethod: '(\w+)'/.exec(text)?.[1] ?? 'get'
    const operation = {
      method: (verb === 'getAPIList' ? listed : verb).toUpperCase(),
      shape: base + (path.split('?')[0] ?? '').replaceAll(/\$\{[^}]*\}/g, '{}'),
    }
    const args = parametersOf(method).map(argumentFor)
    return [{ name, operation, invoke: () => Reflect.apply(method, owner, args) }]
  })
}

function argumentFor(parameter: string): unknown {
  switch (parameter) {
    case 'options':
      return undefined
    case 'query':
      return {}
    case 'params':
    case 'body':
      return argumentsWith({})
    default:
      return MADE_UP
  }
}
