import { describe, expect, test } from 'vitest'
import {
  entriesFor,
  type PaletteSources,
} from '../../controlplane/dashboard/frame/palette/palette-entries.ts'

const page = (path: string, title: string, group: 'Activity' | 'Rules') => ({ path, title, group }) as const
const agent = (name: string) => ({
  agent_id: `agent_${name}`,
  name,
  status: 'active',
  environment: 'production',
})
const SOURCES = {
  pages: [page('policies', 'Policies', 'Rules'), page('traffic', 'Traffic', 'Activity')],
  agents: [agent('policy-bot'), agent('dev')],
  approvals: [{ id: 'apv_1', action_type: 'codehost.pr.merge', agent: 'dev', target: 'acme/site' }],
  mayReadRecords: true,
} as unknown as PaletteSources
const found = (text: string, sources = SOURCES) => entriesFor(text, sources).map(({ label }) => label)

describe('the palette', () => {
  test('shows pages and pending approvals without a text, and no agents', () => {
    expect(found('  ')).toEqual(['Policies', 'Traffic', 'codehost.pr.merge'])
  })

  test('finds each word in label, detail or kind, labels that begin with it first', () => {
    expect(found('pol')).toEqual(['Policies', 'policy-bot', 'Requests with "pol"'])
    expect(found('bot')).toEqual(['policy-bot', 'Requests with "bot"'])
    expect(found('APPROVAL acme')).toEqual(['codehost.pr.merge', 'Requests with "APPROVAL acme"'])
    expect(found('dev agent')).toEqual(['dev', 'Requests with "dev agent"'])
  })

  test('leads to the one agent, the one approval, and the filtered traffic', () => {
    expect(entriesFor('dev', SOURCES).map(({ href }) => href)).toEqual([
      '#/agents?agent=dev',
      '#/approvals?id=apv_1',
      '#/traffic?q=dev',
    ])
  })

  test('offers no search of requests without the right to read them', () => {
    expect(found('nothing', { ...SOURCES, mayReadRecords: false })).toEqual([])
  })
})
