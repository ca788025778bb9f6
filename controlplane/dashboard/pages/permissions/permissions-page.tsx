import { MultiSelect, Select, SimpleGrid, Stack, Text, TextInput, Title } from '@mantine/core'
import type { ConnectorTypeName } from '../../../../core/wire/connectors.ts'
import type { EffectiveReply } from '../../../../core/wire/permissions.ts'
import { EmptyState } from '../../components/layout/empty-state.tsx'
import { Icon } from '../../components/layout/icon.tsx'
import { Loaded } from '../../components/layout/loading.tsx'
import { PageHead } from '../../components/layout/page-head.tsx'
import { YamlNote } from '../../components/manifest/manifest-edit.tsx'
import { UntrustedText } from '../../components/text/untrusted-text.tsx'
import { CONNECTOR_LABELS } from '../../labels/connector-types.ts'
import { useResource } from '../../live/use-resource.ts'
import { useQueryState } from '../../routing/use-page-location.ts'
import { useSession } from '../../session/session.tsx'
import { GrantRows } from './grant-rows.tsx'
import { PermissionRows } from './permission-rows.tsx'
import { ResourceTree } from './resource-tree.tsx'
import { comparedIn, comparedText, MAX_COMPARED, useCompared } from './use-compared.ts'

const DECISIONS = [
  { value: 'ALLOW', label: 'Allowed' },
  { value: 'HOLD', label: 'Held' },
  { value: 'DENY', label: 'Denied' },
]

/** Shows the effective permissions of agents for all actions of the catalogue, and the stored permissions. */
export function Page() {
  const { may } = useSession()
  const [query, change] = useQueryState()
  // The value is not checked here, because the API rejects a value that is not a connector type.
  const type = (query['type'] ?? 'codehost') as ConnectorTypeName
  const effective = useResource(
    'GET /api/dashboard/effective-permissions',
    { query: { type, agent: query['agent'] } },
    { on: ['config'] },
  )
  return (
    <>
      <PageHead
        title="Permissions"
        about="Exact names take precedence over wildcards, and permissions of one agent over those of all agents. Actions without a permission are denied."
      />
      <YamlNote />
      <Stack gap="xl">
        {may('permissions/get') ? <PermissionRows /> : null}
        {may('approvals/get') ? <GrantRows /> : null}
        <Stack gap="md" component="section" aria-label="Effective permissions">
          <Title order={2} size="h5">
            Effective permissions
          </Title>
          <Loaded of={effective}>
            {(reply) => (
              <>
                <Filters reply={reply} type={type} query={query} onChange={change} />
                <Outcome reply={reply} query={query} />
              </>
            )}
          </Loaded>
        </Stack>
      </Stack>
    </>
  )
}

type Query = Readonly<Record<string, string>>

function Filters(props: {
  readonly reply: EffectiveReply
  readonly type: string
  readonly query: Query
  readonly onChange: (changes: Readonly<Record<string, string | null>>) => void
}) {
  const { reply, type, query, onChange } = props
  const compared = comparedIn(query)
  return (
    <SimpleGrid cols={{ base: 1, xs: 2, lg: 5 }} spacing="sm">
      <Select
        label="Agent"
        data={reply.agents.map(({ name, status }) => ({
          value: name,
          label: status === 'active' ? name : `${name} (${status})`,
        }))}
        value={reply.agent}
        onChange={(agent) => onChange({ agent })}
        allowDeselect={false}
        searchable
      />
      <MultiSelect
        label="Compare with"
        placeholder={compared.length === 0 ? 'Other agents' : ''}
        data={reply.agents.map(({ name }) => name).filter((name) => name !== reply.agent)}
        value={[...compared]}
        onChange={(agents) => onChange({ with: comparedText(agents) })}
        maxValues={MAX_COMPARED}
        styles={{ inputField: { minWidth: 24, flexBasis: 24 } }}
        clearButtonProps={{ 'aria-label': 'Clear comparison' }}
        searchable
        clearable
      />
      <Select
        label="Connector"
        data={Object.entries(CONNECTOR_LABELS).map(([value, { title }]) => ({ value, label: title }))}
        value={type}
        onChange={(next) => onChange({ type: next })}
        allowDeselect={false}
      />
      <TextInput
        type="search"
        label="Search"
        placeholder="pr.merge, delete …"
        leftSection={<Icon name="search" size={16} />}
        value={query['q'] ?? ''}
        onChange={(event) => onChange({ q: event.currentTarget.value })}
      />
      <Select
        label="Decision"
        placeholder="All"
        data={DECISIONS}
        value={query['decision'] ?? null}
        onChange={(decision) => onChange({ decision })}
        clearable
        clearButtonProps={{ 'aria-label': 'All decisions' }}
      />
    </SimpleGrid>
  )
}

type Shown = { readonly reply: EffectiveReply; readonly query: Query }

function Outcome({ reply, query }: Shown) {
  if (reply.agent !== null) return <Matrix reply={reply} query={query} agent={reply.agent} />
  return (
    <EmptyState icon="agents" title="No agents">
      This list shows the decision about each action of an agent. Create an agent first.
    </EmptyState>
  )
}

function Matrix({ reply, query, agent }: Shown & { readonly agent: string }) {
  const compared = useCompared(
    comparedIn(query).filter((other) => other !== agent),
    reply.type,
  )
  const words = (query['q'] ?? '').toLowerCase().split(/\s+/)
  const wanted = query['decision']
  const shown = reply.actions.filter(
    ({ type, decision }) =>
      (wanted === undefined || decision === wanted) &&
      words.every((word) => type.toLowerCase().includes(word)),
  )
  return (
    <>
      <Text size="sm" c="dimmed" component="div" role="status">
        {shown.length} of {reply.actions.length} actions, for <UntrustedText text={agent} />{' '}
        {reply.gateway === null ? 'without a gateway: only policies decide' : `at ${reply.gateway}`}.
        {reply.gateway !== null && reply.connectors.length === 0
          ? ' This gateway has no connector of this type and refuses these requests.'
          : ''}
      </Text>
      {shown.length === 0 ? (
        <EmptyState icon="search" title="No matching actions">
          No action of this connector matches the search. Requests without an action name are "unmapped";
          wildcard permissions apply to them.
        </EmptyState>
      ) : (
        <ResourceTree
          key={JSON.stringify([query, agent])}
          actions={shown}
          agent={agent}
          compared={compared}
        />
      )}
    </>
  )
}
