import { Stack } from '@mantine/core'
import type { ApprovalCard } from '../../../../../core/wire/gateway/internal.ts'
import { LoadingSkeleton } from '../../../components/layout/loading.tsx'
import { useResource } from '../../../live/use-resource.ts'
import { useSession } from '../../../session/session.tsx'
import { PermissionForm } from './permission-form.tsx'
import { policyBehind } from './permission-proposal.ts'
import { PolicyExceptions } from './policy-exceptions.tsx'

type Props = { readonly card: ApprovalCard; readonly onClose: () => void }

/**
 * Offers to allow later requests of this kind: by an exception in each policy that requires approval, or by a
 * permission.
 */
export function AlwaysAllowForm({ card, onClose }: Props) {
  const { may } = useSession()
  const isRead = card.kind === 'hold' && may('policies/get')
  const found = useResource(
    'GET /api/dashboard/proxy-approvals/{id}/exceptions',
    isRead ? { params: { id: card.id }, query: { target: 'same' } } : null,
  )
  if (isRead && found.isLoading) return <LoadingSkeleton />
  const isHeldByPolicy = policyBehind(card) !== null || (found.data?.exceptions.length ?? 0) > 0
  const isHeldByPermission = !isHeldByPolicy || found.data?.permission_requires_approval === true
  return (
    <Stack gap="lg">
      {isHeldByPolicy ? <PolicyExceptions card={card} /> : null}
      {isHeldByPermission && may('permissions/update') ? (
        <PermissionForm card={card} onClose={onClose} />
      ) : null}
    </Stack>
  )
}
