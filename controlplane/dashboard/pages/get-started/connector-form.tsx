import {
  ActionIcon,
  Fieldset,
  Group,
  PasswordInput,
  Radio,
  SimpleGrid,
  Stack,
  TagsInput,
  Text,
  TextInput,
} from '@mantine/core'
import type { ConnectorKindsReply } from '../../../../core/wire/connectors.ts'
import type { AccessRule } from '../../../../core/wire/gateways.ts'
import { isPlaintext } from '../../components/form/is-plaintext.ts'
import { PlaintextCredential } from '../../components/form/plaintext-credential.tsx'
import { PrivateAddresses } from '../../components/form/private-addresses.tsx'
import { Icon } from '../../components/layout/icon.tsx'
import { ACCESS_RULE_LABELS } from '../../labels/connector-labels.ts'
import { CONNECTOR_LABELS } from '../../labels/connector-types.ts'
import { connectorNameProblem } from '../../labels/plain-name.ts'
import { type ConnectorDraft, needsDomains } from './draft.ts'
import { PatternList } from './pattern-list.tsx'

type Props = {
  readonly draft: ConnectorDraft
  readonly kind: ConnectorKindsReply['connectors'][number] | null
  readonly onChange: (draft: ConnectorDraft) => void
  /** Called by the button that removes the connector. Without this property, the form has no such button. */
  readonly onRemove?: () => void
}

export function ConnectorForm({ draft, kind, onChange, onRemove }: Props) {
  const labels = CONNECTOR_LABELS[draft.type]
  const hosts = kind?.domains ?? []
  return (
    <Fieldset legend={labels?.title ?? draft.type} className="connector-draft">
      <Stack gap="sm">
        <Group justify="space-between" wrap="nowrap">
          <Text size="sm" c="dimmed">
            {hosts.length === 0 ? 'For the hosts that you enter.' : `For ${hosts.join(', ')}.`}
          </Text>
          {onRemove === undefined ? null : (
            <ActionIcon
              variant="default"
              onClick={onRemove}
              aria-label={`Remove ${labels?.title ?? draft.type}`}
            >
              <Icon name="trash" size={16} />
            </ActionIcon>
          )}
        </Group>
        <SimpleGrid cols={{ base: 1, sm: 2 }}>
          <PasswordInput
            label={labels?.credential ?? 'Token'}
            description="Stored encrypted and sent only to the provider."
            value={draft.token}
            onChange={(event) => onChange({ ...draft, token: event.currentTarget.value })}
            autoComplete="off"
            visibilityToggleButtonProps={{ 'aria-label': 'Show or hide the credential', tabIndex: 0 }}
            required
          />
          {needsDomains(draft.type) ? <OwnHosts draft={draft} onChange={onChange} /> : null}
          <SelfHosted draft={draft} onChange={onChange} />
        </SimpleGrid>
        <Radio.Group
          label="Access rule"
          value={draft.accessRule}
          onChange={(rule) => onChange({ ...draft, accessRule: rule as AccessRule })}
        >
          <SimpleGrid cols={{ base: 1, sm: 2 }} mt="xs" spacing="xs">
            {ACCESS_RULE_LABELS.map(({ value, label, description }) => (
              <Radio key={value} value={value} label={label} description={description} />
            ))}
          </SimpleGrid>
        </Radio.Group>
        {draft.accessRule === 'custom' ? (
          <PatternList
            type={draft.type}
            patterns={draft.patterns}
            onChange={(patterns) => onChange({ ...draft, patterns })}
          />
        ) : null}
      </Stack>
    </Fieldset>
  )
}

/** Edits the name and the hosts of a connector whose type has no hosts of its own. */
function OwnHosts({ draft, onChange }: Pick<Props, 'draft' | 'onChange'>) {
  return (
    <>
      <TextInput
        label="Name"
        description={`Shown in lists, records and approvals. Default: ${draft.type}.`}
        placeholder="orders-api"
        value={draft.name}
        onChange={(event) => onChange({ ...draft, name: event.currentTarget.value })}
        error={connectorNameProblem(draft.name)}
      />
      <TagsInput
        label="Hosts"
        description="Press Enter to add a host, such as tools.example.com."
        value={[...draft.domains]}
        onChange={(domains) => onChange({ ...draft, domains })}
        splitChars={[',', ' ']}
        acceptValueOnBlur
        required
      />
      {draft.type === 'mcp' ? (
        <TagsInput
          label="Endpoint"
          description="Path of the MCP server, such as /mcp. Without it, JSON-RPC is accepted on every path."
          value={[...draft.endpoint]}
          onChange={(endpoint) => onChange({ ...draft, endpoint })}
          splitChars={[',', ' ']}
          acceptValueOnBlur
        />
      ) : null}
      <TextInput
        label="Header"
        description="Header for the credential. Default: Authorization: Bearer."
        placeholder="X-API-Key"
        value={draft.header}
        onChange={(event) => onChange({ ...draft, header: event.currentTarget.value })}
      />
    </>
  )
}

/** Edits the base URL of a self-hosted instance. */
function SelfHosted({ draft, onChange }: Pick<Props, 'draft' | 'onChange'>) {
  return (
    <>
      <TextInput
        label="Base URL"
        description="URL of a self-hosted instance. Its host replaces the default hosts of the provider. If empty, requests go to the hosts of the connector."
        placeholder="https://git.example.com"
        value={draft.baseUrl}
        onChange={(event) => onChange({ ...draft, baseUrl: event.currentTarget.value })}
      />
      <PrivateAddresses
        isAllowed={draft.allowsPrivate}
        onChange={(allowsPrivate) => onChange({ ...draft, allowsPrivate })}
      />
      {isPlaintext(draft.baseUrl) ? (
        <PlaintextCredential
          isAllowed={draft.allowsPlaintext}
          onChange={(allowsPlaintext) => onChange({ ...draft, allowsPlaintext })}
        />
      ) : null}
    </>
  )
}
