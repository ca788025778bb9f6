/** Catalogue rows for alerts, advisories, scanning and its configuration, and the supply chain. */
export const SECURITY = `
  GET    /advisories                                                                  advisory.list                                read  low
  GET    /advisories/{ghsa_id}                                                        advisory.get                                 read  low
  POST   /orgs/{org}/artifacts/metadata/deployment-record                             artifact_deployment_record.create            write medium artifact_metadata:write
  POST   /orgs/{org}/artifacts/metadata/deployment-record/cluster/{cluster}           artifact_deployment_record.set_cluster       write medium artifact_metadata:write
  POST   /orgs/{org}/artifacts/metadata/deployment-record/cluster/{cluster}/jobs      artifact_deployment_record.create_cluster_job write medium
  GET    /orgs/{org}/artifacts/metadata/deployment-record/cluster/{cluster}/jobs/{job_id} artifact_deployment_record.get_cluster_job   read  low
  POST   /orgs/{org}/artifacts/metadata/storage-record                                artifact_storage_record.create               write medium artifact_metadata:write
  GET    /orgs/{org}/artifacts/{subject_digest}/metadata/deployment-records           artifact_deployment_record.list              read  low artifact_metadata:read
  GET    /orgs/{org}/artifacts/{subject_digest}/metadata/storage-records              artifact_storage_record.list                 read  low artifact_metadata:read
  POST   /orgs/{org}/attestations/bulk-list                                           attestation.list                             read  low
  POST   /orgs/{org}/attestations/delete-request                                      attestation.delete                           write high attestations:write
  DELETE /orgs/{org}/attestations/digest/{subject_digest}                             attestation.delete                           write high   @same attestations:write
  GET    /orgs/{org}/attestations/repositories                                        attestation.list_repos                       read  low attestations:read
  GET    /orgs/{org}/attestations/{subject_digest}                                    attestation.list                             read  low
  DELETE /orgs/{org}/attestations/{attestation_id}                                    attestation.delete                           write high   @same attestations:write
  GET    /orgs/{org}/campaigns                                                        campaign.list                                read  low
  POST   /orgs/{org}/campaigns                                                        campaign.create                              write medium name
  GET    /orgs/{org}/campaigns/{campaign_number}                                      campaign.get                                 read  low
  PATCH  /orgs/{org}/campaigns/{campaign_number}                                      campaign.update                              write medium
  DELETE /orgs/{org}/campaigns/{campaign_number}                                      campaign.delete                              write high
  GET    /orgs/{org}/code-scanning/alerts                                             code_scanning_alert.list                     read  low security_events:read
  GET    /orgs/{org}/code-security/configurations                                     code_security_configuration.list             read  low organization_administration:read
  POST   /orgs/{org}/code-security/configurations                                     code_security_configuration.create           write high organization_administration:write
  GET    /orgs/{org}/code-security/configurations/defaults                            code_security_configuration.list_defaults    read  low organization_administration:read
  DELETE /orgs/{org}/code-security/configurations/detach                              code_security_configuration.detach           write high   selected_repository_ids organization_administration:write
  GET    /orgs/{org}/code-security/configurations/{configuration_id}                  code_security_configuration.get              read  low organization_administration:read
  PATCH  /orgs/{org}/code-security/configurations/{configuration_id}                  code_security_configuration.update           write high organization_administration:write
  DELETE /orgs/{org}/code-security/configurations/{configuration_id}                  code_security_configuration.delete           write high organization_administration:write
  POST   /orgs/{org}/code-security/configurations/{configuration_id}/attach           code_security_configuration.attach           write high   scope organization_administration:write
  PUT    /orgs/{org}/code-security/configurations/{configuration_id}/defaults         code_security_configuration.set_default      write high organization_administration:write
  GET    /orgs/{org}/code-security/configurations/{configuration_id}/repositories     code_security_configuration.list_repos       read  low organization_administration:read
  GET    /orgs/{org}/dependabot/alerts                                                dependabot_alert.list                        read  low vulnerability_alerts:read
  GET    /orgs/{org}/dependabot/repository-access                                     org_dependabot_access.get                    read  low organization_administration:read
  PATCH  /orgs/{org}/dependabot/repository-access                                     org_dependabot_access.update                 write high organization_administration:write
  PUT    /orgs/{org}/dependabot/repository-access/default-level                       org_dependabot_access.set_default_level      write high organization_administration:write
  GET    /orgs/{org}/secret-scanning/alerts                                           secret_scanning_alert.list                   read  high secret_scanning_alerts:read
  GET    /orgs/{org}/secret-scanning/custom-patterns                                  org_secret_scanning_pattern.list             read  low
  POST   /orgs/{org}/secret-scanning/custom-patterns                                  org_secret_scanning_pattern.create           write medium
  DELETE /orgs/{org}/secret-scanning/custom-patterns                                  org_secret_scanning_pattern.delete           write high
  PATCH  /orgs/{org}/secret-scanning/custom-patterns/{pattern_id}                     org_secret_scanning_pattern.update           write high
  GET    /orgs/{org}/secret-scanning/pattern-configurations                           org_secret_scanning_configuration.list       read  low organization_administration:read
  PATCH  /orgs/{org}/secret-scanning/pattern-configurations                           org_secret_scanning_configuration.update     write high organization_administration:write
  GET    /orgs/{org}/security-advisories                                              repo_advisory.list                           read  low
  GET    /orgs/{org}/security-managers                                                security_manager.list                        read  low organization_administration:read
  PUT    /orgs/{org}/security-managers/teams/{team_slug}                              security_manager.add_team                    write high organization_administration:write
  DELETE /orgs/{org}/security-managers/teams/{team_slug}                              security_manager.remove_team                 write high organization_administration:write
  GET    /orgs/{org}/settings/immutable-releases                                      org_immutable_release.get                    read  low organization_administration:read
  PUT    /orgs/{org}/settings/immutable-releases                                      org_immutable_release.set                    write high   enforced_repositories organization_administration:write
  GET    /orgs/{org}/settings/immutable-releases/repositories                         org_immutable_release.list_repos             read  low organization_administration:read
  PUT    /orgs/{org}/settings/immutable-releases/repositories                         org_immutable_release.set_repos              write high   selected_repository_ids organization_administration:write
  PUT    /orgs/{org}/settings/immutable-releases/repositories/{repository_id}         org_immutable_release.enable_repo            write high organization_administration:write
  DELETE /orgs/{org}/settings/immutable-releases/repositories/{repository_id}         org_immutable_release.disable_repo           write high organization_administration:write
  POST   /orgs/{org}/{security_product}/disable_all                                   org.set_security_product                     write high   query_suite @same
  POST   /orgs/{org}/{security_product}/enable_all                                    org.set_security_product                     write high   query_suite
  POST   /repos/{owner}/{repo}/attestations                                           attestation.create                           write high attestations:write
  GET    /repos/{owner}/{repo}/attestations/{subject_digest}                          attestation.list                             read  low attestations:read
  GET    /repos/{owner}/{repo}/automated-security-fixes                               repo.check_security_fixes                    read  low administration:read
  PUT    /repos/{owner}/{repo}/automated-security-fixes                               repo.enable_security_fixes                   write medium administration:write
  DELETE /repos/{owner}/{repo}/automated-security-fixes                               repo.disable_security_fixes                  write high administration:write
  GET    /repos/{owner}/{repo}/code-quality/findings                                  code_quality_finding.list                    read  low code_quality:read
  GET    /repos/{owner}/{repo}/code-quality/findings/{finding_number}                 code_quality_finding.get                     read  low code_quality:read
  GET    /repos/{owner}/{repo}/code-quality/setup                                     code_quality.get_setup                       read  low administration:write
  PATCH  /repos/{owner}/{repo}/code-quality/setup                                     code_quality.update_setup                    write medium state administration:write
  GET    /repos/{owner}/{repo}/code-scanning/alerts                                   code_scanning_alert.list                     read  low security_events:read
  GET    /repos/{owner}/{repo}/code-scanning/alerts/{alert_number}                    code_scanning_alert.get                      read  low security_events:read
  PATCH  /repos/{owner}/{repo}/code-scanning/alerts/{alert_number}                    code_scanning_alert.update                   write high   state,dismissed_reason security_events:write
  GET    /repos/{owner}/{repo}/code-scanning/alerts/{alert_number}/autofix            code_scanning_alert.get_autofix              read  low security_events:read
  POST   /repos/{owner}/{repo}/code-scanning/alerts/{alert_number}/autofix            code_scanning_alert.create_autofix           write medium security_events:write
  POST   /repos/{owner}/{repo}/code-scanning/alerts/{alert_number}/autofix/commits    code_scanning_alert.commit_autofix           write medium target_ref,message contents:write
  GET    /repos/{owner}/{repo}/code-scanning/alerts/{alert_number}/instances          code_scanning_alert.list_instances           read  low security_events:read
  GET    /repos/{owner}/{repo}/code-scanning/analyses                                 code_scanning_analysis.list                  read  low security_events:read
  GET    /repos/{owner}/{repo}/code-scanning/analyses/{analysis_id}                   code_scanning_analysis.get                   read  low security_events:read
  DELETE /repos/{owner}/{repo}/code-scanning/analyses/{analysis_id}                   code_scanning_analysis.delete                write high security_events:write
  GET    /repos/{owner}/{repo}/code-scanning/codeql/databases                         codeql_database.list                         read  low contents:read
  GET    /repos/{owner}/{repo}/code-scanning/codeql/databases/{language}              codeql_database.get                          read  low contents:read
  DELETE /repos/{owner}/{repo}/code-scanning/codeql/databases/{language}              codeql_database.delete                       write high contents:write
  POST   /repos/{owner}/{repo}/code-scanning/codeql/variant-analyses                  codeql_variant_analysis.create               write medium contents:write
  GET    /repos/{owner}/{repo}/code-scanning/codeql/variant-analyses/{codeql_variant_analysis_id} codeql_variant_analysis.get                  read  low contents:read
  GET    /repos/{owner}/{repo}/code-scanning/codeql/variant-analyses/{codeql_variant_analysis_id}/repos/{repo_owner}/{repo_name} codeql_variant_analysis.get_repo_task        read  low contents:read
  GET    /repos/{owner}/{repo}/code-scanning/default-setup                            code_scanning.get_setup                      read  low administration:read
  PATCH  /repos/{owner}/{repo}/code-scanning/default-setup                            code_scanning.update_setup                   write high   state administration:write
  POST   /repos/{owner}/{repo}/code-scanning/sarifs                                   sarif.upload                                 write medium ref,commit_sha security_events:write
  GET    /repos/{owner}/{repo}/code-scanning/sarifs/{sarif_id}                        sarif.get                                    read  low security_events:read
  GET    /repos/{owner}/{repo}/code-security-configuration                            code_security_configuration.get_for_repo     read  low administration:read
  GET    /repos/{owner}/{repo}/dependabot/alerts                                      dependabot_alert.list                        read  low vulnerability_alerts:read
  GET    /repos/{owner}/{repo}/dependabot/alerts/{alert_number}                       dependabot_alert.get                         read  low vulnerability_alerts:read
  PATCH  /repos/{owner}/{repo}/dependabot/alerts/{alert_number}                       dependabot_alert.update                      write high   state,dismissed_reason vulnerability_alerts:write
  GET    /repos/{owner}/{repo}/dependency-graph/compare/{basehead/}                   dependency_graph.compare                     read  low contents:read
  GET    /repos/{owner}/{repo}/dependency-graph/sbom                                  dependency_graph.get_sbom                    read  low contents:read
  GET    /repos/{owner}/{repo}/dependency-graph/sbom/fetch-report/{sbom_uuid}         dependency_graph.get_sbom_report             read  low contents:read
  GET    /repos/{owner}/{repo}/dependency-graph/sbom/generate-report                  dependency_graph.generate_sbom_report        read  low contents:read
  POST   /repos/{owner}/{repo}/dependency-graph/snapshots                             dependency_graph.create_snapshot             write medium ref,sha contents:write
  GET    /repos/{owner}/{repo}/immutable-releases                                     repo.check_immutable_releases                read  low administration:read
  PUT    /repos/{owner}/{repo}/immutable-releases                                     repo.enable_immutable_releases               write high administration:write
  DELETE /repos/{owner}/{repo}/immutable-releases                                     repo.disable_immutable_releases              write high administration:write
  GET    /repos/{owner}/{repo}/private-vulnerability-reporting                        repo.check_vulnerability_reporting           read  low metadata:read
  PUT    /repos/{owner}/{repo}/private-vulnerability-reporting                        repo.enable_vulnerability_reporting          write medium administration:write
  DELETE /repos/{owner}/{repo}/private-vulnerability-reporting                        repo.disable_vulnerability_reporting         write high administration:write
  GET    /repos/{owner}/{repo}/secret-scanning/alerts                                 secret_scanning_alert.list                   read  high secret_scanning_alerts:read
  GET    /repos/{owner}/{repo}/secret-scanning/alerts/{alert_number}                  secret_scanning_alert.get                    read  high secret_scanning_alerts:read
  PATCH  /repos/{owner}/{repo}/secret-scanning/alerts/{alert_number}                  secret_scanning_alert.update                 write high   state,resolution secret_scanning_alerts:write
  GET    /repos/{owner}/{repo}/secret-scanning/alerts/{alert_number}/locations        secret_scanning_alert.list_locations         read  low secret_scanning_alerts:read
  GET    /repos/{owner}/{repo}/secret-scanning/custom-patterns                        secret_scanning_pattern.list                 read  low
  POST   /repos/{owner}/{repo}/secret-scanning/custom-patterns                        secret_scanning_pattern.create               write medium
  DELETE /repos/{owner}/{repo}/secret-scanning/custom-patterns                        secret_scanning_pattern.delete               write high
  PATCH  /repos/{owner}/{repo}/secret-scanning/custom-patterns/{pattern_id}           secret_scanning_pattern.update               write high
  POST   /repos/{owner}/{repo}/secret-scanning/push-protection-bypasses               secret_scanning.bypass_push_protection       write high   reason
  GET    /repos/{owner}/{repo}/secret-scanning/scan-history                           secret_scanning.get_history                  read  low secret_scanning_alerts:read
  GET    /repos/{owner}/{repo}/security-advisories                                    repo_advisory.list                           read  low
  POST   /repos/{owner}/{repo}/security-advisories                                    repo_advisory.create                         write high   summary,severity
  POST   /repos/{owner}/{repo}/security-advisories/reports                            repo_advisory.report                         write medium summary,severity
  GET    /repos/{owner}/{repo}/security-advisories/{ghsa_id}                          repo_advisory.get                            read  low
  PATCH  /repos/{owner}/{repo}/security-advisories/{ghsa_id}                          repo_advisory.update                         write high   state,severity
  POST   /repos/{owner}/{repo}/security-advisories/{ghsa_id}/cve                      repo_advisory.request_cve                    write high
  POST   /repos/{owner}/{repo}/security-advisories/{ghsa_id}/forks                    repo_advisory.create_fork                    write medium
  GET    /repos/{owner}/{repo}/vulnerability-alerts                                   repo.check_vulnerability_alerts              read  low administration:read
  PUT    /repos/{owner}/{repo}/vulnerability-alerts                                   repo.enable_vulnerability_alerts             write medium administration:write
  DELETE /repos/{owner}/{repo}/vulnerability-alerts                                   repo.disable_vulnerability_alerts            write high administration:write
  POST   /users/{username}/attestations/bulk-list                                     attestation.list                             read  low
  POST   /users/{username}/attestations/delete-request                                attestation.delete                           write high   @same attestations:write
  DELETE /users/{username}/attestations/digest/{subject_digest}                       attestation.delete                           write high   @same attestations:write
  GET    /users/{username}/attestations/{subject_digest}                              attestation.list                             read  low
  DELETE /users/{username}/attestations/{attestation_id}                              attestation.delete                           write high   @same attestations:write
`
