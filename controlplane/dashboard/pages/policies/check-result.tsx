import { Alert, Group, Stack, Text } from '@mantine/core'
import type { PolicyCheckReply, PolicyProblem } from '../../../../core/wire/policies.ts'
import { EmptyState } from '../../components/layout/empty-state.tsx'
import { ErrorNote } from '../../components/layout/error-note.tsx'
import { Icon } from '../../components/layout/icon.tsx'
import { LoadingSkeleton } from '../../components/layout/loading.tsx'
import { ToneBadge } from '../../components/layout/tone-badge.tsx'
import { UntrustedText } from '../../components/text/untrusted-text.tsx'
import type { Check } from './use-check.ts'

/**
 * Shows the result of a policy check: first the problems with their lines, then the test results, then the warnings.
 */
export function CheckResult({ check: { reply, error } }: { readonly check: Check }) {
  if (error !== null) return <ErrorNote error={error} />
  if (reply === null) return <LoadingSkeleton />
  return (
    <Stack gap="sm" aria-live="polite">
      {reply.problems.length === 0 ? null : <Problems problems={reply.problems} />}
      {reply.problems.length > 0 && reply.tests.length === 0 ? (
        <Text size="sm" c="dimmed">
          The tests run after the problems are fixed.
        </Text>
      ) : (
        <Tests tests={reply.tests} />
      )}
      {reply.warnings.map((warning) => (
        <Alert
          key={warning}
          color="orange"
          variant="outline"
          icon={<Icon name="warning" />}
          title="Warning"
          className="note"
        >
          <UntrustedText text={warning} />
        </Alert>
      ))}
    </Stack>
  )
}

function Problems({ problems }: { readonly problems: readonly PolicyProblem[] }) {
  return (
    <ul className="plain-list" aria-label="Problems">
      {problems.map(({ line, message }) => (
        <li key={`${line} ${message}`} className="list-line">
          <Group gap="xs" align="flex-start" wrap="nowrap">
            <ToneBadge tone="bad">{line === null ? 'Text' : `Line ${line}`}</ToneBadge>
            <Text size="sm" component="div" className="min-0">
              <UntrustedText text={message} />
            </Text>
          </Group>
        </li>
      ))}
    </ul>
  )
}

function Tests({ tests }: { readonly tests: PolicyCheckReply['tests'] }) {
  if (tests.length === 0) {
    return (
      <EmptyState icon="policies" title="No tests">
        Add expected decisions under "tests". They run with every change, and a policy version whose tests
        fail is never activated.
      </EmptyState>
    )
  }
  return (
    <ul className="plain-list" aria-label="Tests">
      {tests.map(({ name, passed, failure }) => (
        <li key={name} className="list-line">
          <Group gap="xs" align="flex-start" wrap="nowrap">
            <ToneBadge tone={passed ? 'good' : 'bad'}>{passed ? 'Passed' : 'Failed'}</ToneBadge>
            <div className="min-0">
              <Text size="sm" component="div">
                <UntrustedText text={name} />
              </Text>
              {failure === undefined ? null : (
                <Text size="sm" c="dimmed" component="div">
                  <UntrustedText text={failure} />
                </Text>
              )}
            </div>
          </Group>
        </li>
      ))}
    </ul>
  )
}
