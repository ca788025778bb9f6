import { describe, expect, test } from 'vitest'
import { compileTable } from '../../../../core/connectors/provider-side/table.ts'
import { LLM_A_PROVIDER_SIDE } from '../../../../core/connectors/provider-side/table-a.ts'
import { openApiFields } from '../../../../scripts/catalogue/openapi-fields.ts'
import {
  endsWith,
  harmlessOf,
  readPublished,
  undescribed,
} from '../../../../scripts/catalogue/provider-fields.ts'
import {
  openApiSource,
  publishedSources,
  unknownFields,
} from '../../../../scripts/catalogue/published-fields.ts'

const SOURCES = publishedSources()
const LIST = { type: 'array', items: { $ref: '#/components/schemas/Mcp' } }

test('every model provider has a published source', () => {
  expect(SOURCES.map(({ table }) => table.connector)).toEqual(['llm_a', 'llm_b', 'llm_c'])
})

describe.each(SOURCES)('what is published of $table.connector', (source) => {
  const { table, published, version } = source

  test('has no field with a host, no id and no tool that the table does not describe', () => {
    expect(published.fields.length).toBeGreaterThan(5)
    expect(published.tools.length).toBeGreaterThan(10)
    expect(published.paths.length).toBeGreaterThan(10)
    expect(published.ids.length).toBeGreaterThan(10)
    expect(unknownFields(source)).toEqual([])
  })

  test('has every field that is explained', () => {
    const { fields, paths, ids } = harmlessOf(table.connector)
    expect(Object.keys(fields).filter((name) => !published.fields.includes(name))).toEqual([])
    const isPublished = (end: string) => published.paths.some((path) => endsWith(path, end))
    expect(Object.keys(paths).filter((end) => !isPublished(end))).toEqual([])
    expect(ids.filter((end) => !published.ids.some((path) => endsWith(path, end)))).toEqual([])
  })

  test('is of the version that the table names', () => {
    expect(version).not.toBe('')
    expect(table.source).toContain(version)
  })
})

describe("OpenAI's OpenAPI file", () => {
  const { published, version } = openApiSource()

  test('has no field with a host, no id and no tool that the table does not describe', () => {
    expect(version).not.toBe('')
    expect(published.fields.length).toBeGreaterThan(5)
    expect(published.paths.length).toBeGreaterThan(10)
    expect(published.ids.length).toBeGreaterThan(10)
    expect(published.tools.length).toBeGreaterThan(10)
    expect(unknownFields(openApiSource())).toEqual([])
  })

  test('adds no field and no tool to the types of the SDK', () => {
    const [sdk] = SOURCES
    expect(published.fields.filter((name) => !sdk?.published.fields.includes(name))).toEqual([])
    expect(published.tools.filter((type) => !sdk?.published.tools.includes(type))).toEqual([])
  })

  test('is read through references, unions, lists and keys of the caller', () => {
    const schemas = {
      Tool: {
        anyOf: [{ $ref: '#/components/schemas/Mcp' }, { type: 'object', properties: { tools: LIST } }],
      },
      Mcp: {
        properties: { type: { type: 'string', enum: ['mcp'] }, server_url: { type: ['string', 'null'] } },
      },
    }
    const schema = {
      properties: {
        tools: { type: 'array', items: { $ref: '#/components/schemas/Tool' } },
        variables: { additionalProperties: { properties: { file_id: { anyOf: [{ type: 'string' }] } } } },
        allowed_domains: { type: 'array', items: { type: 'string' } },
      },
    }
    const content = { 'application/json': { schema } }
    const found = openApiFields({
      paths: { '/x': { post: { requestBody: { content } } } },
      components: { schemas },
    })
    expect(found).toEqual({
      fields: ['allowed_domains', 'server_url'],
      paths: ['^.allowed_domains.*', '^.tools.*.server_url', '^.tools.*.tools.*.server_url'],
      ids: ['^.variables.?.file_id'],
      tools: ['mcp'],
    })
  })
})

const NONE = { fields: {}, paths: {}, ids: [] }

test('a new field and a new tool are reported', () => {
  const published = readPublished([
    "export type Tool = A | Tool.B;\nexport interface A {\n    type: 'function';\n}\nnamespace Tool {\n    interface B {\n        type: 'quantum';\n        relay_url?: string;\n    }\n}\n",
  ])
  expect(undescribed(compileTable(LLM_A_PROVIDER_SIDE), published, NONE)).toEqual([
    'field relay_url',
    'tool quantum',
  ])
})

test('a field at a path without a row is reported, although its name has a row elsewhere', () => {
  const published = readPublished([
    `export interface RunCreateParams {
    /**
     * Hosts.
     */
    cage?: RunCreateParams.Cage | null;

    hosts?: Array<Host>;

    tools?: Array<
      Shared.Tool
    >;
}
export declare namespace RunCreateParams {
    interface Cage extends Walls {
        network: Cage.Network;
    }
    namespace Cage {
        interface Network {
            allowed_domains: Array<string>;
        }
    }
}
export interface Walls {
    allowed_domains?: Array<string>;
}
`,
    'export interface Tool {\n    server_url: string;\n}\nexport type Host = Near | Far;\nexport interface Far {\n    url: string;\n}\n',
  ])
  expect(published.paths).toEqual([
    '^.cage.allowed_domains.*',
    '^.cage.network.allowed_domains.*',
    '^.hosts.*.url',
    '^.tools.*.server_url',
  ])
  expect(
    undescribed(compileTable(LLM_A_PROVIDER_SIDE), published, {
      fields: { hosts: '' },
      paths: { 'cage.allowed_domains.*': '' },
      ids: [],
    }),
  ).toEqual(['path ^.hosts.*.url'])
})

describe('an id in a request', () => {
  const published = readPublished([
    `export type LaunchCreateParams = LaunchCreateParamsBase;
export interface LaunchCreateParamsBase {
    plan: Plan;
    rocket_ids?: Array<string>;
    pilotId?: string;
    crewID?: string;
    pad?: Pad | null;
    prompt?: Prompt;
    file_id?: string;
}
export interface Plan {
    id: string;
    width: number;
}
export type Pad = {
    name: string;
    pad_id: string;
} & {
    [key: string]: string;
};
export interface Prompt {
    id: string;
}
export interface LaunchListParams {
    launch_id: string;
}
`,
    'export interface LaunchCreateParamsBase {\n    twin_id: string;\n}\n',
  ])
  const found = undescribed(compileTable(LLM_A_PROVIDER_SIDE), published, { ...NONE, ids: ['file_id'] })

  test.each([
    'id ^.plan.id',
    'id ^.rocket_ids.*',
    'id ^.pilotId',
    'id ^.crewID',
    'id ^.pad.pad_id',
    'id ^.twin_id',
  ])('is reported without a row or an exemption: %s', (line) => {
    expect(found).toContain(line)
  })

  test('is not reported with a row or an exemption, or in a request without a body', () => {
    expect(published.ids).toEqual(expect.arrayContaining(['^.prompt.id', '^.file_id']))
    expect(found).toHaveLength(6)
  })
})
