import { describe, expect, test } from 'vitest'
import { stripCredentials } from '../../../../core/connectors/credentials/credentials.ts'
import { LLM_C_GRPC } from '../../../../core/connectors/llm/c-grpc.ts'
import { llmC } from '../../../../core/connectors/llm.ts'
import { isRefusal } from '../../../../core/request/canonical.ts'
import { boundOf, nameRequest } from '../golden.ts'

const JSON_TYPE = ['Content-Type', 'application/json']

/** The names of a request, or the code of its refusal. */
function namesOf(method: string, target: string, body?: unknown, more: readonly string[] = []): string[] {
  const text = body === undefined ? undefined : typeof body === 'string' ? body : JSON.stringify(body)
  const length = text === undefined ? [] : [...JSON_TYPE, 'Content-Length', String(Buffer.byteLength(text))]
  const rawHeaders = ['Host', 'generativelanguage.googleapis.com', ...length, ...more]
  const raw = { method, target, rawHeaders, httpVersion: '1.1', scheme: 'https', sources: {} } as const
  const named = nameRequest(boundOf('llm_c'), raw, text)
  if (isRefusal(named)) return [named.code]
  return (named.kind === 'actions' ? named.actions : named.candidates).map(({ type }) => type)
}

const GENERATE = '/v1beta/models/gemini-2.5-pro:generateContent'

describe('a verb behind the resource', () => {
  test.each([
    ['POST', GENERATE, 'llm_c.content.generate'],
    ['POST', '/v1/models/gemini-2.5-pro:generateContent', 'llm_c.content.generate'],
    ['POST', '/v1alpha/models/gemini-2.5-pro:generateContent', 'llm_c.content.generate'],
    ['POST', '/v1beta/models/gemini-2.5-pro:streamGenerateContent?alt=sse', 'llm_c.content.generate_stream'],
    ['POST', '/v1beta/tunedModels/t:streamGenerateContent', 'llm_c.content.generate_stream'],
    ['POST', '/v1beta/models/m:countTokens', 'llm_c.content.count_tokens'],
    ['POST', '/v1beta/models/m:%67enerateContent', 'llm_c.content.generate'],
    ['GET', '/v1beta/files/f:download?alt=media', 'llm_c.file.download'],
    ['POST', '/v1beta/files:register', 'llm_c.file.register'],
    ['POST', '/upload/v1beta/files?upload_id=1', 'llm_c.file.upload'],
    ['POST', '/upload/v1/files', 'llm_c.file.upload'],
    ['POST', '/upload/v1beta/fileSearchStores/s:uploadToFileSearchStore', 'llm_c.file_store.upload_file'],
    ['DELETE', '/v1alpha/files/f', 'llm_c.file.delete'],
    ['DELETE', '/v1/operations/a/b', 'llm_c.operation.delete'],
    ['GET', '/v1beta/models/a:b', 'llm_c.model.get'],
    ['GET', '/v1beta/environments/e/files/docs/a:b.txt', 'llm_c.environment_file.get'],
  ])('%s %s is %s', (method, target, name) => {
    expect(namesOf(method, target)).toEqual([name])
  })

  test.each([
    ['an encoded colon', '/v1beta/models/m%3AgenerateContent'],
    ['a colon encoded twice', '/v1beta/models/m%253AgenerateContent'],
    ['a colon encoded beside a plain one', '/v1beta/models/a%3Ab:generateContent'],
    ['two verbs', '/v1beta/models/m:streamGenerateContent:countTokens'],
    ['a second colon', '/v1beta/models/a:b:generateContent'],
    ['a second colon behind it', '/v1beta/models/m:generateContent:x'],
    ['a verb of other letters', '/v1beta/models/m:GenerateContent'],
    ['a verb in lower case', '/v1beta/models/m:generatecontent'],
    ['a blank before the verb', '/v1beta/models/m:%20generateContent'],
    ['a blank behind the verb', '/v1beta/models/m:generateContent%20'],
    ['a tab behind the verb', '/v1beta/models/m:generateContent%09'],
    ['a path parameter', '/v1beta/models/m:generateContent;a=b'],
    ['an encoded path parameter', '/v1beta/models/m:generateContent%3Ba'],
    ['an encoded question mark', '/v1beta/models/m:generateContent%3Fa=b'],
    ['an encoded hash', '/v1beta/models/m:generateContent%23'],
    ['an encoded slash', '/v1beta/models/m:generateContent%2Fa'],
    ['a NUL', '/v1beta/models/m:generateContent%00'],
    ['a verb encoded twice', '/v1beta/models/m:%2567enerateContent'],
    ['a slash behind it', '/v1beta/models/m:generateContent/'],
    ['a segment behind it', '/v1beta/models/m:generateContent/operations'],
    ['a verb without a resource', '/v1beta/models/:generateContent'],
    ['a verb as a segment', '/v1beta/models/m/:generateContent'],
    ['an empty segment', '/v1beta/models//m:generateContent'],
    ['an empty first segment', '//v1beta/models/m:generateContent'],
    ['a dot segment', '/v1beta/./models/m:generateContent'],
    ['an encoded slash before the model', '/v1beta/models%2Fm:generateContent'],
    ['a collection of other letters', '/v1beta/Models/m:generateContent'],
    ['a version of other letters', '/V1beta/models/m:generateContent'],
    ['another version of other letters', '/V1ALPHA/models/m:generateContent'],
    ['an upload of other letters', '/Upload/v1beta/fileSearchStores/s:uploadToFileSearchStore'],
    ['a collection with an encoded verb', '/v1beta/files%3Aregister'],
    ['a collection with a verb of other letters', '/v1beta/corpora/c/documents/d/chunks:BatchDelete'],
  ])('that servers may not find, or find elsewhere, is refused: %s', (_, target) => {
    for (const method of ['POST', 'PUT'])
      expect(namesOf(method, target), method).toEqual(['ambiguous_request'])
  })

  test.each([
    ['an unknown verb', 'POST', '/v1beta/models/m:train', 'llm_c.unmapped.post'],
    ['a longer verb', 'POST', '/v1beta/models/m:generateContents', 'llm_c.unmapped.post'],
    ['an unknown version', 'POST', '/v2/models/m:generateContent', 'llm_c.unmapped.post'],
    [
      'a live call of gRPC',
      'POST',
      '/google.ai.generativelanguage.v1beta.GenerativeService/BidiGenerateContent',
      'llm_c.unmapped.post',
    ],
    ['many calls in one', 'POST', '/batch', 'llm_c.unmapped.post'],
    ['a verb by GET', 'GET', GENERATE, 'llm_c.unmapped.get'],
    ['a verb by OPTIONS', 'OPTIONS', GENERATE, 'llm_c.unmapped.options'],
  ])('%s has no name of its own', (_, method, target, name) => {
    expect(namesOf(method, target)).toEqual([name])
  })

  test('by another method may be the operation all the same', () => {
    expect(namesOf('PUT', GENERATE)).toEqual(['llm_c.unmapped.put', 'llm_c.content.generate'])
    expect(namesOf('POST', '/v1beta/tunedModels/t:unknown')).toEqual([
      'llm_c.unmapped.post',
      'llm_c.tuned_model.update',
      'llm_c.tuned_model.delete',
    ])
  })

  test.each([
    '%24httpMethod=DELETE',
    '$httpHeaders=Authorization%3Ax',
    '$HTTPMETHOD=PUT',
    '%20$httpMethod=PUT',
  ])('with ?%s is refused: it replaces the method or headers', (query) => {
    expect(namesOf('GET', `/v1beta/files/f?${query}`)).toEqual(['ambiguous_request'])
  })
})

describe('the model', () => {
  test('of the path is the target and a parameter, for tuned models under another name', () => {
    const actionOf = (target: string) => {
      const rawHeaders = ['Host', 'generativelanguage.googleapis.com']
      const raw = {
        method: 'POST',
        target,
        rawHeaders,
        httpVersion: '1.1',
        scheme: 'https',
        sources: {},
      } as const
      const named = nameRequest(boundOf('llm_c'), raw)
      return named.kind === 'actions' ? named.actions[0] : undefined
    }
    expect(actionOf(GENERATE)).toMatchObject({
      resource: { target: 'gemini-2.5-pro' },
      parameters: { model: 'gemini-2.5-pro' },
    })
    expect(actionOf('/v1beta/tunedModels/gemini-2.5-pro:generateContent')?.parameters).toEqual({
      tuned_model: 'gemini-2.5-pro',
    })
  })

  const batch = '/v1beta/models/m:batchEmbedContents'
  test.each<[string, string, unknown]>([
    ['at the top', GENERATE, { model: 'models/gemini-ultra' }],
    ['of another collection', GENERATE, { model: 'tunedModels/gemini-2.5-pro' }],
    ['as no text', GENERATE, { model: ['models/gemini-2.5-pro'] }],
    ['in a request of many', batch, { requests: [{ model: 'models/m' }, { model: 'models/n' }] }],
    ['in what is counted', '/v1beta/models/m:countTokens', { generateContentRequest: { model: 'models/n' } }],
    [
      'in what is counted, spelt otherwise',
      '/v1beta/models/m:countTokens',
      { generate_content_request: { model: 'n' } },
    ],
    ['in a batch', '/v1beta/models/m:batchGenerateContent', { batch: { model: 'models/n' } }],
    ['of a tuned model', '/v1beta/tunedModels/t:generateContent', { model: 'models/t' }],
  ])('that the body names otherwise is refused: %s', (_, target, body) => {
    expect(namesOf('POST', target, body)).toEqual(['ambiguous_request'])
  })

  test('may occur in the body like in the path', () => {
    for (const model of ['models/gemini-2.5-pro', 'gemini-2.5-pro', '', null])
      expect(namesOf('POST', GENERATE, { model, contents: [] })).toEqual(['llm_c.content.generate'])
    expect(namesOf('POST', batch, { requests: [{ model: 'models/m' }] })).toEqual([
      'llm_c.embedding.create_many',
    ])
  })
})

describe('a field of protobuf JSON', () => {
  const TRANSFER = '/v1beta/tunedModels/t:transferOwnership'
  const parameterOf = (target: string, body: unknown) => {
    const text = JSON.stringify(body)
    const rawHeaders = [
      'Host',
      'generativelanguage.googleapis.com',
      ...JSON_TYPE,
      'Content-Length',
      `${text.length}`,
    ]
    const raw = {
      method: 'POST',
      target,
      rawHeaders,
      httpVersion: '1.1',
      scheme: 'https',
      sources: {},
    } as const
    const named = nameRequest(boundOf('llm_c'), raw, text)
    return isRefusal(named)
      ? named.code
      : named.kind === 'actions'
        ? named.actions[0]?.parameters
        : 'candidates'
  }

  test('has one name for rules, whichever of its two it is sent under', () => {
    const wanted = { tuned_model: 't', emailAddress: 'a@b.c' }
    expect(parameterOf(TRANSFER, { emailAddress: 'a@b.c' })).toEqual(wanted)
    expect(parameterOf(TRANSFER, { email_address: 'a@b.c' })).toEqual(wanted)
    expect(parameterOf('/v1beta/tunedModels?tuned_model_id=x', { displayName: 'd' })).toEqual({
      tunedModelId: 'x',
      displayName: 'd',
    })
  })

  test('under both names is refused, in the body and in the query', () => {
    expect(parameterOf(TRANSFER, { email_address: 'a@b.c', emailAddress: 'x@y.z' })).toBe('ambiguous_request')
    expect(parameterOf('/v1beta/tunedModels?tuned_model_id=x&tunedModelId=y', {})).toBe('ambiguous_request')
  })

  test('in a body that is no JSON is refused', () => {
    const named = nameRequest(
      boundOf('llm_c'),
      {
        method: 'POST',
        target: GENERATE,
        rawHeaders: [
          'Host',
          'generativelanguage.googleapis.com',
          'Content-Type',
          'application/x-protobuf',
          'Content-Length',
          '1',
        ],
        httpVersion: '1.1',
        scheme: 'https',
        sources: {},
      },
      'x',
    )
    expect(named).toMatchObject({ kind: 'refusal', code: 'unsupported_body' })
  })
})

describe('a call over gRPC', () => {
  const PACKAGE = 'google.ai.generativelanguage'

  test.each([
    [`/${PACKAGE}.v1alpha.FileService/DeleteFile`, 'llm_c.file.delete'],
    [`/$rpc/${PACKAGE}.v1beta.FileService/DeleteFile`, 'llm_c.file.delete'],
    [`/%24rpc/${PACKAGE}.v1alpha.PermissionService/CreatePermission`, 'llm_c.permission.create'],
    [`/${PACKAGE}.v1beta3.ModelService/ListModels`, 'llm_c.model.list'],
    ['/resumable/upload/v1beta/files', 'llm_c.file.upload'],
    ['/resumable/upload/v1/fileSearchStores/s:uploadToFileSearchStore', 'llm_c.file_store.upload_file'],
  ])('%s has the name that it has over REST', (target, name) => {
    expect(namesOf('POST', target)).toEqual([name])
  })

  test.each([
    [`/${PACKAGE}.v1beta.GenerativeService/GenerateContent`, 'llm_c.content.generate'],
    [`/${PACKAGE}.v1.GenerativeService/StreamGenerateContent`, 'llm_c.content.generate_stream'],
    [`/${PACKAGE}.v1beta.GenerativeService/CountTokens`, 'llm_c.content.count_tokens'],
    [`/${PACKAGE}.v1beta.GenerativeService/GenerateAnswer`, 'llm_c.answer.generate'],
    [`/${PACKAGE}.v1beta.GenerativeService/EmbedContent`, 'llm_c.embedding.create'],
    [`/${PACKAGE}.v1beta.PredictionService/Predict`, 'llm_c.prediction.create'],
    [`/${PACKAGE}.v1beta.PredictionService/PredictLongRunning`, 'llm_c.prediction.start'],
    [`/${PACKAGE}.v1beta.CacheService/CreateCachedContent`, 'llm_c.cached_content.create'],
  ])('%s may hold tools, which the gateway does not read', (target, name) => {
    expect(namesOf('POST', target)).toEqual([name, 'llm_c.provider_tool.unknown'])
  })

  test('of every operation that computes is unread', () => {
    const paths = LLM_C_GRPC.split('\n').flatMap((line) =>
      line.includes(' compute ') ? (line.trim().split(/\s+/)[1] ?? []) : [],
    )
    expect(paths.length).toBeGreaterThan(10)
    for (const path of paths) expect(namesOf('POST', path), path).toContain('llm_c.provider_tool.unknown')
  })

  test.each([
    `/${PACKAGE}.v1beta.fileservice/DeleteFile`,
    `/${PACKAGE}.v1beta.FileService/deleteFile`,
    `/$RPC/${PACKAGE}.v1beta.FileService/DeleteFile`,
    `//${PACKAGE}.v1beta.FileService/DeleteFile`,
    `/${PACKAGE}.v1beta.FileService%2FDeleteFile`,
    `/${PACKAGE}.v1beta.FileService/DeleteFile;x`,
    `/${PACKAGE}.V1.FileService/DeleteFile`,
  ])('%s is refused', (target) => {
    expect(namesOf('POST', target)).toEqual(['ambiguous_request'])
  })
})

test.each(['stream', 'plain'])('an interaction is named by its body: %s', (kind) => {
  const body = { model: 'gemini-2.5-pro', ...(kind === 'stream' ? { stream: true } : {}) }
  expect(namesOf('POST', '/v1beta/interactions', body)).toEqual([
    `llm_c.interaction.create${kind === 'stream' ? '_stream' : ''}`,
  ])
})

test.each(['key', 'KEY', '%24key', 'access_token', '$access_token', '$oauth_token', 'bearer_token', 'key[]'])(
  'a credential of the agent in ?%s= is removed',
  (name) => {
    const edit = {
      rawHeaders: ['X-Goog-Api-Key', 'own', 'Authorization', 'Bearer own'],
      rawTarget: `${GENERATE}?alt=sse&${name}=own`,
    }
    stripCredentials(edit, llmC)
    expect(edit).toEqual({ rawHeaders: [], rawTarget: `${GENERATE}?alt=sse` })
  },
)

describe('behind a base URL', () => {
  test.each(['https://models.acme.test/proxy', 'https://models.acme.test/proxy/v1beta'])('%s', (baseUrl) => {
    const bound = boundOf('llm_c', { baseUrl })
    const target = '/proxy/v1beta/models/m:generateContent'
    const rawHeaders = ['Host', 'models.acme.test']
    const raw = {
      method: 'POST',
      target,
      rawHeaders,
      httpVersion: '1.1',
      scheme: 'https',
      sources: {},
    } as const
    const named = nameRequest(bound, raw)
    expect(named.kind === 'actions' && named.actions[0]?.type).toBe('llm_c.content.generate')
    const made = llmC.toRequest?.(
      {
        type: 'llm_c.content.generate',
        resource: { provider: 'llm_c' },
        parameters: { model: 'm', contents: [] },
      },
      bound.config,
    )
    expect(made).toMatchObject({ method: 'POST', host: 'models.acme.test', target, body: '{"contents":[]}' })
  })
})
