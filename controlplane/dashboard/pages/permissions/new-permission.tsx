import { Autocomplete, Radio, Select, SimpleGrid } from '@mantine/core'
import { useState } from 'react'
import type { ConnectorTypeName } from '../../../../core/wire/connectors.ts'
import type { RuleDecision } from '../../../../core/wire/permissions.ts'
import { call } from '../../api/client.ts'
import { FormDialog } from '../../components/form/form-dialog.tsx'
import { useMutation } from '../../components/form/use-mutation.ts'
import { RULE_DECISION_LABELS } from '../../labels/connector-labels.ts'
import { CONNECTOR_LABELS } from '../../labels/connector-types.ts'
import { useResource } from '../../live/use-resource.ts'

type Props = { readonly isOpen: boolean; readonly onClose: () => void; readonly onSaved: () => void }

const ALL_AGENTS = '*'

/**
 * Renders the dialog that adds a permission. The new permission replaces a permission with the same pattern and agent.
 */
export function NewPermission({ isOpen, onClose, onSaved }: Props) {
  const overview = useResource('GET /api/dashboard/overview', isOpen ? {} : null)
  const agents = useResource('GET /api/dashboard/agents', isOpen ? {} : null)
  const [gateway, setGateway] = useState<string | null>(null)
  const [agent, setAgent] = useState(ALL_AGENTS)
  const [type, setType] = useState<ConnectorTypeName>('codehost')
  const [pattern, setPattern] = useState('')
  const [decision, setDecision] = useState<RuleDecision>('require_approval')
  const catalogue = useResource('GET /api/dashboard/catalogue/{type}', isOpen ? { params: { type } } : null)
  const gateways = overview.data?.gateways.map(({ name }) => name) ?? []
  const chosen = gateway ?? gateways[0] ?? null
  const save = useMutation(async () => {
    if (chosen === null) return
    const body = {
      gateway_name: chosen,
      connector_type: type,
      action_pattern: pattern.trim(),
      decision,
      agent,
    }
    await call('POST /api/dashboard/permissions', { body })
    onSaved()
    onClose()
  })
  const names = agents.data?.agents.filter(({ status }) => status !== 'revoked').map(({ name }) => name) ?? []
  return (
    <FormDialog
      title="Add permission"
      isOpen={isOpen}
      onClose={onClose}
      label="Save"
      isReady={pattern.trim() !== '' && chosen !== null}
      mutation={save}
      size="lg"
    >
      <SimpleGrid cols={{ base: 1, sm: 2 }}>
        <Select label="Gateway" data={gateways} value={chosen} onChange={setGateway} allowDeselect={false} />
        <Select
          label="Agent"
          data={[
            { value: ALL_AGENTS, label: 'all agents of the gateway' },
            ...names.map((name) => ({ value: name, label: name })),
          ]}
          value={agent}
          onChange={(value) => setAgent(value ?? ALL_AGENTS)}
          allowDeselect={false}
          searchable
        />
        <Select
          label="Connector"
          data={Object.entries(CONNECTOR_LABELS).map(([value, { title }]) => ({ value, label: title }))}
          value={type}
          onChange={(value) => setType((value as ConnectorTypeName | null) ?? type)}
          allowDeselect={false}
        />
        <Autocomplete
          label="Action"
          description="An action name, a prefix with an asterisk, or an effect class such as effect:merge."
          placeholder={`${type}.*`}
          data={suggestions(catalogue.data?.actions ?? [])}
          limit={20}
          value={pattern}
          onChange={setPattern}
          required
        />
      </SimpleGrid>
      <DecisionInput decision={decision} onChange={setDecision} />
    </FormDialog>
  )
}

type Suggested = { readonly type: string; readonly effects?: readonly string[] | undefined }

/** Returns the suggestions for the pattern: action names of the connector, and their effect classes. */
function suggestions(actions: readonly Suggested[]): readonly string[] {
  const classes = new Set(actions.flatMap(({ effects = [] }) => effects))
  return [...actions.map(({ type }) => type), ...[...classes].sort().map((effect) => `effect:${effect}`)]
}

function DecisionInput(props: {
  readonly decision: RuleDecision
  readonly onChange: (decision: RuleDecision) => void
}) {
  const { decision, onChange } = props
  return (
    <Radio.Group label="Decision" value={decision} onChange={(value) => onChange(value as RuleDecision)}>
      <SimpleGrid cols={{ base: 1, sm: 3 }} mt={6}>
        {RULE_DECISION_LABELS.map(({ value, label }) => (
          <Radio key={value} value={value} label={label} />
        ))}
      </SimpleGrid>
    </Radio.Group>
  )
}
