/** Effect classes of the operations of the connector type `codehost`. `effect-table.ts` describes the format. */
export const CODEHOST_EFFECTS = `
  # A change reaches a shared branch.
  merge pr.merge branch.{merge,sync_upstream}
  # Published commits or files of a release can be lost or replaced.
  rewrite_history git.force_push repo.disable_immutable_releases
  rewrite_history org_immutable_release.{set,set_repos,disable_repo}
  rewrite_history import.set_lfs
  # Content becomes accessible to users who had no access before: packages, pages, releases, gists, advisories.
  publish release.{create,update} tag.create release_asset.{upload,update} pages.{create,update} pages_build.request
  publish pages_deployment.create gist.{create,update} package.restore package_version.restore
  publish repo_advisory.{update,request_cve} codespace.publish fork.create
  # Programs run, with the secrets of the repository or of a machine.
  code_execution workflow.{dispatch,enable} workflow_run.{approve,rerun} workflow_job.rerun repo.dispatch
  code_execution check_run.rerequest check_suite.{create,rerequest} deployment.{create,review,review_gate}
  code_execution codespace.{create,start} codeql_variant_analysis.create
  # Determine which workflows run, with which code, and on which machine.
  code_execution actions_permission.{set,set_fork_approval,set_private_fork_workflows,set_selected_actions}
  code_execution org_actions_permission.{enable_repo,set,set_fork_approval}
  code_execution org_actions_permission.set_private_fork_workflows
  code_execution org_actions_permission.{set_repos,set_selected_actions} runner.{add_labels,set_labels}
  code_execution org_runner.{add_labels,set_labels}
  # An agent of the provider works on a task.
  delegate agent_task.create code_scanning_alert.create_autofix
  # Determine where agents of the provider may work.
  delegate,access_grant org_coding_agent_permission.{enable_repo,set,set_repos}
  delegate,access_grant enterprise_coding_agent_policy.{add_orgs,set}
  # Budgets limit spending.
  money_out org_budget.{create,delete,update}
  # Seats cost money and give access.
  money_out,access_grant org_copilot.{add_team_seats,add_user_seats}
  # Events with content are sent, or sent again, to an address in the request.
  egress hook.{create,ping,test,update,update_config} hook_delivery.redeliver app_hook.update
  egress org_hook.{create,ping,update,update_config} org_hook_delivery.redeliver app_hook_delivery.redeliver
  egress private_registry.{create,update}
  # The response contains a token, a key or another secret.
  credential_out app.create_from_manifest app_installation.create_token oauth_token.{create_scoped,reset}
  credential_out runner.{create_jit_config,create_registration_token,create_removal_token}
  credential_out org_runner.{create_jit_config,create_registration_token,create_removal_token}
  # The response quotes secrets that were found in code.
  credential_out secret_scanning_alert.{get,list}
  # A resource becomes visible to more users, or its monitoring is disabled.
  visibility repo.{disable_security_fixes,disable_vulnerability_alerts,disable_vulnerability_reporting}
  visibility public_member.{publish,conceal} user_email.set_visibility org.set_security_product
  visibility secret_scanning.bypass_push_protection code_scanning.update_setup code_quality.update_setup
  visibility code_security_configuration.{attach,create,detach,set_default,update}
  visibility enterprise_code_security_configuration.{attach,create,set_default,update}
  visibility org_secret_scanning_configuration.update
  # A repository gets another owner, and access for the users of that owner.
  visibility,access_grant repo.transfer
  # Users, teams, keys and apps gain rights.
  access_grant collaborator.add deploy_key.create ssh_key.create gpg_key.create ssh_signing_key.create
  access_grant org_invitation.create org_member.set org_membership.accept repo_invitation.{accept,update}
  access_grant team.{create,update} team_member.set team_repo.set enterprise_team.{create,update}
  access_grant enterprise_team_member.add enterprise_team_org.add org_role.{assign_team,assign_user}
  access_grant security_manager.add_team token_request.review user_email.add
  access_grant app_installation.{add_repo,unsuspend} copilot_space_collaborator.{add,update}
  access_grant org_codespaces_access.{add_users,set} org_dependabot_access.{set_default_level,update}
  access_grant enterprise_dependabot_access.{set_default_level,update}
  # Repositories get secrets, runners, or the claims that clouds trust.
  access_grant org_actions_secret.{add_repo,set_repos} org_agents_secret.{add_repo,set_repos}
  access_grant org_codespaces_secret.{add_repo,set_repos} org_dependabot_secret.{add_repo,set_repos}
  access_grant user_codespaces_secret.{add_repo,set_repos} oidc.set_subject_claim org_oidc.set_subject_claim
  access_grant org_oidc_property.create enterprise_oidc_property.create
  access_grant actions_permission.{set_access,set_workflow}
  access_grant org_actions_permission.set_workflow
  access_grant org_runner_group.{add_repo,add_runner,create,set_repos,set_runners,update}
  access_grant org_self_hosted_runner_permission.{enable_repo,set,set_repos}
  access_grant network_configuration.{create,update}
  # Rules that restrict users change.
  access_grant branch_protection.{delete_required_checks,delete_required_reviews,delete_required_signatures}
  access_grant branch_protection.{exempt_admins,remove_required_contexts,set_required_contexts,update}
  access_grant branch_protection.{update_required_checks,update_required_reviews}
  access_grant branch_restriction.{add_apps,add_teams,add_users,set_apps,set_teams,set_users}
  access_grant ruleset.{create,update} org_ruleset.{create,update} environment.set
  access_grant deployment_branch_policy.{create,update} deployment_protection_rule.disable
  access_grant interaction_limit.{add_pr_bypass,remove,set} org_interaction_limit.{remove,set}
  access_grant user_interaction_limit.{remove,set}
  # A rule that restricts users is removed completely.
  access_grant,delete branch_protection.delete branch_restriction.delete ruleset.delete org_ruleset.delete
  access_grant,delete deployment_branch_policy.delete environment.delete
  # Data stored at the provider is deleted.
  delete actions_cache.delete actions_secret.delete actions_variable.delete agents_secret.delete
  delete agents_variable.delete
  delete app_installation.delete artifact.delete attestation.delete autolink.delete branch.delete
  delete campaign.delete
  delete code_scanning_analysis.delete code_security_configuration.delete codeql_database.delete
  delete codespace.delete
  delete codespaces_secret.delete commit_comment.delete copilot_space.delete copilot_space_resource.delete
  delete dependabot_secret.delete deploy_key.delete deployment.delete
  delete enterprise_code_security_configuration.delete
  delete enterprise_oidc_property.delete enterprise_team.delete environment_secret.delete
  delete environment_variable.delete
  delete file.delete gist.delete gist_comment.delete gpg_key.delete hook.delete issue_comment.delete
  delete issue_field.delete issue_type.delete label.delete migration.delete_archive milestone.delete
  delete network_configuration.delete org.delete org_actions_secret.delete org_actions_variable.delete
  delete org_agents_secret.delete org_agents_variable.delete
  delete org_codespaces_secret.delete org_dependabot_secret.delete org_hook.delete org_hosted_runner.delete
  delete org_oidc_property.delete org_property.delete org_runner.delete org_runner_group.delete
  delete org_runner_image.delete
  delete org_runner_image_version.delete org_secret_scanning_pattern.delete package.delete
  delete package_version.delete
  delete pages.delete pr_comment.delete pr_review.delete private_registry.delete project_item.delete
  delete release.delete
  delete release_asset.delete repo.delete runner.delete secret_scanning_pattern.delete ssh_key.delete
  delete ssh_signing_key.delete team.delete team_discussion.delete team_discussion_comment.delete
  delete user_codespaces_secret.delete workflow_run.{delete,delete_logs}
  # A machine is rented by size, and workflows run on it.
  code_execution,money_out org_hosted_runner.{create,update}
  # The provider fetches a repository from any address and writes it over this one.
  rewrite_history,egress import.{start,update}
  # The authors of imported commits are rewritten.
  rewrite_history import.map_author
  # Settings determine the rights of members and the visibility for outsiders.
  visibility,access_grant org.update
  # The files that assistants read, or the readers of an issue, change.
  visibility org_copilot.set_content_exclusion graphql.transferIssue
  # A field of the request lists the repositories that may use the secret.
  access_grant org_actions_secret.set org_agents_secret.set org_codespaces_secret.set org_dependabot_secret.set
  access_grant user_codespaces_secret.set
  # Rulesets apply to repositories by the values of their properties.
  access_grant org_property.{set,set_values} org_property_value.set repo_property_value.set
  # Credentials of any owner end, and cannot be restored.
  delete credential.revoke
  # Everyday work on issues, requests and boards; fields of the request may start an agent.
  none issue.{close,create,lock,unlock,update} issue_assignee.{add,remove}
  none issue_comment.{create,pin,unpin,update} issue_dependency.{add_blocker,remove_blocker}
  none issue_field.{create,update} issue_field_value.{add,remove,set}
  none issue_label.{add,remove,remove_all,set} issue_suggestion.{approve,dismiss}
  none issue_type.{create,update} label.{create,update} milestone.{create,update}
  none sub_issue.{add,prioritise,remove} pr.{close,create,review,update,update_branch}
  none pr_comment.{create,reply,update} pr_review.{dismiss,update} pr_reviewer.{remove,request}
  none pr_stack.{add,create,unstack} commit_comment.{create,update} gist.{fork,star,unstar}
  none gist_comment.{create,update} reaction.{create,delete} team_discussion.{create,update}
  none team_discussion_comment.{create,update}
  none graphql.{addDiscussionComment,addDiscussionPollVote,addUpvote,archiveProjectV2Item}
  none graphql.{changeUserStatus,clearProjectV2ItemFieldValue,closeDiscussion}
  none graphql.{convertProjectV2DraftIssueItemToIssue,copyProjectV2,createCommitOnBranch}
  none graphql.{createDiscussion,createIssueField,createLinkedBranch,createProjectV2,createUserList}
  none graphql.{dequeuePullRequest,disablePullRequestAutoMerge,importProject,linkProjectV2ToRepository}
  none graphql.{linkRepositoryToProject,markDiscussionCommentAsAnswer,markFileAsViewed,minimizeComment}
  none graphql.{pinIssue,removeUpvote,reopenDiscussion,resolveReviewThread,setIssueFieldValue}
  none graphql.{unarchiveProjectV2Item,unlinkProjectV2FromRepository,unlinkRepositoryFromProject}
  none graphql.{unmarkDiscussionCommentAsAnswer,unmarkFileAsViewed,unminimizeComment,unpinIssue}
  none graphql.{unresolveReviewThread,updateDiscussion,updateDiscussionComment,updateProjectV2}
  none graphql.{updateProjectV2DraftIssue,updateProjectV2Field,updateProjectV2ItemPosition,updateRefs}
  none graphql.{updateUserList,updateUserListsForItem} project_field.create
  none project_item.{add,create_draft,update} project_view.create
  none notification.{delete_subscription,mark_done,mark_read,set_subscription} subscription.{delete,set}
  none star.{add,remove} following.{add,remove}
  # Commits, files and references. Fields identify workflow files and forced updates; the pack of a push shows its workflow folders.
  none file.{create,update} git.push git_blob.create git_commit.create git_tag.create git_tree.create
  none branch.{create,rename,update}
  none repo.{create,enable_immutable_releases,enable_security_fixes,enable_vulnerability_alerts}
  none repo.{enable_vulnerability_reporting,replace_topics,update} autolink.create attestation.create
  # Results that checks, scanners and deployments report, and decisions about alerts.
  none check_run.{create,update} check_suite.set_preferences commit_status.create
  none deployment_status.create code_scanning_alert.{commit_autofix,update} secret_scanning_alert.update
  none dependabot_alert.update sarif.upload dependency_graph.create_snapshot
  none artifact_deployment_record.{create,create_cluster_job,set_cluster} artifact_storage_record.create
  none repo_advisory.{create,create_fork,report} campaign.{create,update}
  none secret_scanning_pattern.{create,update} org_secret_scanning_pattern.{create,update}
  # Values that programs read during later runs, and the retention of their artifacts.
  none actions_secret.set actions_variable.{create,update}
  none actions_cache.{set_retention_limit,set_storage_limit} actions_permission.set_retention
  none agents_secret.set agents_variable.{create,update} codespaces_secret.set dependabot_secret.set
  none environment_secret.set environment_variable.{create,update} org_actions_secret.remove_repo
  none org_actions_variable.{add_repo,create,remove_repo,set_repos,update} org_agents_secret.remove_repo
  none org_agents_variable.{add_repo,create,remove_repo,set_repos,update}
  none org_codespaces_secret.remove_repo org_dependabot_secret.remove_repo
  none user_codespaces_secret.remove_repo org_actions_cache.{set_retention_limit,set_storage_limit}
  none enterprise_actions_cache.{set_retention_limit,set_storage_limit}
  none org_actions_permission.{disable_repo,set_retention}
  # Rights, seats, tokens and rules are revoked, tightened or unchanged.
  none app_installation.{remove_repo,revoke_token,suspend}
  none branch_protection.{add_required_contexts,enforce_admins,require_signatures}
  none branch_restriction.{remove_apps,remove_teams,remove_users} collaborator.remove
  none copilot_space_collaborator.remove deployment_protection_rule.create
  none enterprise_coding_agent_policy.remove_orgs enterprise_team_member.remove
  none enterprise_team_org.remove interaction_limit.{remove_pr_bypass,set_pr_cap}
  none org_interaction_limit.set_pr_cap oauth_grant.delete oauth_token.delete org_block.{add,remove}
  none org_codespaces_access.remove_users org_coding_agent_permission.disable_repo
  none org_copilot.{cancel_team_seats,cancel_user_seats} org_immutable_release.enable_repo
  none org_invitation.cancel org_member.remove
  none org_role.{revoke_all_of_team,revoke_all_of_user,revoke_team,revoke_user}
  none org_runner_group.{remove_repo,remove_runner} org_self_hosted_runner_permission.disable_repo
  none outside_collaborator.{convert,remove} repo_invitation.{decline,delete}
  none security_manager.remove_team team_member.remove team_repo.remove token_grant.revoke
  none user_block.{add,remove}
  # Work is stopped or prepared, and nothing runs.
  none codespace.{export,stop,update} import.cancel migration.{start,unlock_repo}
  none pages_deployment.cancel runner.{remove_label,remove_labels}
  none org_runner.{remove_label,remove_labels} workflow.disable workflow_run.cancel
  none copilot_space.{create,update} copilot_space_resource.{create,update}
  # The account's own profile.
  none social_account.{add,remove} user.update user_email.remove
  # List or describe secrets without their values; the name of an expanded field reveals one that contains a value.
  none actions_secret.{get,get_public_key,list} agents_secret.{get,get_public_key,list}
  none codespaces_secret.{get,get_public_key,list} dependabot_secret.{get,get_public_key,list}
  none environment_secret.{get,get_public_key,list} oauth_token.check
  none org_actions_secret.{get,get_public_key,list,list_for_repo,list_repos}
  none org_agents_secret.{get,get_public_key,list,list_for_repo,list_repos}
  none org_codespaces_secret.{get,get_public_key,list,list_repos}
  none org_dependabot_secret.{get,get_public_key,list,list_repos} org_secret_scanning_configuration.list
  none org_secret_scanning_pattern.list secret_scanning.get_history secret_scanning_alert.list_locations
  none secret_scanning_pattern.list token_grant.{list,list_repos} token_request.{list,list_repos}
  none user_codespaces_secret.{get,get_public_key,list,list_repos}
  # Notes and other references that affect neither branches nor releases.
  none ref.create
  # Reads that return no secret.
  none @reads
`
