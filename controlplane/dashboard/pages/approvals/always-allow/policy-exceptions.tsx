import { Button, Group, Radio, Stack, Text } from '@mantine/core'
import { useState } from 'react'
import type { ApprovalCard } from '../../../../../core/wire/gateway/internal.ts'
import type { ExceptionTarget, PolicyExceptionView } from '../../../../../core/wire/policy-exceptions.ts'
import { call } from '../../../api/client.ts'
import { useMutation } from '../../../components/form/use-mutation.ts'
import { ErrorNote } from '../../../components/layout/error-note.tsx'
import { Loaded } from '../../../components/layout/loading.tsx'
import { CopyText } from '../../../components/text/copy-text.tsx'
import { UntrustedText } from '../../../components/text/untrusted-text.tsx'
import { useResource } from '../../../live/use-resource.ts'
import { useSession } from '../../../session/session.tsx'
import { CheckResult } from '../../policies/check-result.tsx'
import { TextDiff } from '../../policies/text-diff.tsx'

/**
 * Shows each policy that holds the request, with the exception that would let such requests pass. The user can save
 * each exception.
 */
export function PolicyExceptions({ card }: { readonly card: ApprovalCard }) {
  const [target, setTarget] = useState<ExceptionTarget>('same')
  const found = useResource(
    'GET /api/dashboard/proxy-approvals/{id}/exceptions',
    card.kind === 'hold' ? { params: { id: card.id }, query: { target } } : null,
  )
  if (card.kind === 'action') return <NotPrepared rule={card.matched_rule} />
  return (
    <Stack gap="md">
      <Text size="sm">
        A policy requires approval, and a permission does not override a policy. An exception in the policy
        lets later requests of this kind pass. Denials and other policies stay in force.
      </Text>
      {card.target === null ? null : (
        <Radio.Group label="Target" value={target} onChange={(value) => setTarget(value as ExceptionTarget)}>
          <Stack gap={6} mt={6}>
            <Radio value="same" label={<UntrustedText text={card.target} />} />
            <Radio value="any" label="Any target" />
          </Stack>
        </Radio.Group>
      )}
      <Loaded of={found}>
        {({ exceptions, permission_requires_approval: isAskedTwice }) => (
          <>
            {exceptions.map((exception) => (
              <Exception key={exception.policy} exception={exception} />
            ))}
            {exceptions.length > 1 ? (
              <Text size="sm">
                Each of these policies requires approval, so each needs its own exception.
              </Text>
            ) : null}
            {isAskedTwice && exceptions.length > 0 ? (
              <Text size="sm">A permission also requires approval, so an exception alone has no effect.</Text>
            ) : null}
            {exceptions.length === 0 ? <NotPrepared rule={card.matched_rule} /> : null}
          </>
        )}
      </Loaded>
    </Stack>
  )
}

/** Renders a notice for the card of an action request. For such a card, the API prepares no exceptions. */
function NotPrepared({ rule }: { readonly rule: string | null }) {
  return (
    <Text size="sm" role="note" component="div">
      <UntrustedText text={`The rule "${rule}" requires approval. `} />
      No exception can be prepared from this card, so edit the policy.
    </Text>
  )
}

function Exception({ exception }: { readonly exception: PolicyExceptionView }) {
  return (
    <Stack gap="sm" component="section" role="region" aria-label={`Exception in ${exception.policy}`}>
      <Text fw={600} component="h3">
        <UntrustedText text={exception.policy} />
      </Text>
      {exception.kind === 'none' ? (
        <Text size="sm" role="note">
          {exception.obstacle}
        </Text>
      ) : (
        <Prepared exception={exception} />
      )}
    </Stack>
  )
}

type PreparedException = Exclude<PolicyExceptionView, { readonly kind: 'none' }>

function Prepared({ exception }: { readonly exception: PreparedException }) {
  const { before, after, check, kind, tested } = exception
  return (
    <>
      <TextDiff before={before} after={after} />
      <CheckResult check={{ reply: check, error: null, isCurrent: true }} />
      {tested ? null : (
        <Text size="sm">
          No test for this request could be added. Check that the new rule covers the request.
        </Text>
      )}
      {kind === 'manifest' ? (
        <>
          <Text size="sm">
            A manifest defines this policy. Apply this change to it; nothing is saved here.
          </Text>
          <CopyText label="manifest" text={after} />
        </>
      ) : (
        <SaveException exception={exception} />
      )}
    </>
  )
}

function SaveException({ exception }: { readonly exception: PreparedException }) {
  const { may, isYaml } = useSession()
  const [isSaved, setIsSaved] = useState(false)
  const save = useMutation(async () => {
    const { policy_id, version: expected_version, after: policyYaml } = exception
    await call('PATCH /api/dashboard/policies', { body: { policy_id, expected_version, policyYaml } })
    setIsSaved(true)
  })
  if (!may('policies/update'))
    return (
      <Text size="sm" role="note">
        Saving needs the right to write policies (role admin).
      </Text>
    )
  if (isSaved)
    return (
      <Text size="sm" role="status">
        The exception is saved. Gateways apply the policy within a second. This request still needs its own
        answer.
      </Text>
    )
  return (
    <>
      {save.error === null ? null : <ErrorNote error={save.error} />}
      <Group justify="space-between" wrap="nowrap">
        <Text size="sm" c="dimmed">
          Nothing is saved yet. This request still needs its own answer.
        </Text>
        <Button flex="none" onClick={() => save.run()} loading={save.isBusy} disabled={!exception.check.ok}>
          {isYaml ? 'Show manifest' : 'Save exception'}
        </Button>
      </Group>
    </>
  )
}
