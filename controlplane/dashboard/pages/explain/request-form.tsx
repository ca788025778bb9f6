import { Button, Group, Paper, Select, TextInput } from '@mantine/core'
import { useState } from 'react'
import { ExplainResult } from '../../components/decision/explain-result.tsx'
import { EmptyState } from '../../components/layout/empty-state.tsx'
import { Loaded } from '../../components/layout/loading.tsx'
import { Panel } from '../../components/layout/panel.tsx'
import { useResource } from '../../live/use-resource.ts'
import { useQueryState } from '../../routing/use-page-location.ts'
import { AgentInput } from './agent-input.tsx'

const METHODS = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'HEAD']

/** A method and an address, as an agent would send them. The question is part of the address of the page. */
export function RequestForm() {
  const [query, change] = useQueryState()
  const [method, setMethod] = useState(query['method'] ?? 'DELETE')
  const [url, setUrl] = useState(query['url'] ?? '')
  const [agent, setAgent] = useState(query['agent'] ?? '')
  const asked = { method: query['method'] ?? '', url: query['url'] ?? '', agent: query['agent'] ?? '' }
  const isAsked = Object.values(asked).every((text) => text !== '')
  const answer = useResource('GET /api/dashboard/explain', isAsked ? { query: asked } : null, {
    on: ['config', 'kill'],
  })
  return (
    <>
      <Paper withBorder p="md">
        <form
          onSubmit={(event) => {
            event.preventDefault()
            change({ method, url: url.trim(), agent: agent.trim() })
          }}
        >
          <Group align="flex-end" gap="sm">
            <Select
              label="Method"
              data={METHODS}
              value={method}
              onChange={(value) => setMethod(value ?? 'GET')}
              w={120}
              allowDeselect={false}
            />
            <TextInput
              className="grow"
              label="Address"
              placeholder="https://api.github.com/repos/acme/site"
              value={url}
              onChange={(event) => setUrl(event.currentTarget.value)}
              required
            />
            <AgentInput value={agent} onChange={setAgent} />
            <Button type="submit">Explain</Button>
          </Group>
        </form>
      </Paper>
      {isAsked ? (
        <Panel title="Answer">
          <Loaded of={answer}>{(reply) => <ExplainResult reply={reply} />}</Loaded>
        </Panel>
      ) : (
        <EmptyState icon="explain" title="Ask before an agent does">
          The answer names the connector, the action, every rule that was looked at and the one that won. It
          is the same text as that of "chaperone explain", and the same verdict as the gateway's.
        </EmptyState>
      )}
    </>
  )
}
