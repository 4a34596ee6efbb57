@requires-leader-awareness
Feature: Leader-aware clients
  As a developer who uses Apache Iggy
  I want clients to find the node that leads the cluster
  So that it does not matter which node I connect to first

  @cluster
  Scenario: A follower sends its clients to the leader
    Given a cluster of 2 nodes
    And node 0 on port 8091 is the leader
    And node 1 on port 8092 is a follower
    When a client for port 8092 signs in as root
    Then the client is connected to port 8091
    When the client creates the stream "test-stream"
    Then the stream exists on the leader

  @cluster
  Scenario: A client of the leader stays
    Given a cluster of 2 nodes
    And node 0 on port 8091 is the leader
    When a client for port 8091 signs in as root
    Then the client is connected to port 8091
    And the client was not redirected

  Scenario: A server without a cluster
    Given a running server
    When a client for the server signs in as root
    Then the client is connected to the server
    When I create the stream "single-server-stream"
    Then the stream is named "single-server-stream"

  @cluster
  Scenario: Two clients meet at the leader
    Given a cluster of 2 nodes
    And node 0 on port 8091 is the leader
    And node 1 on port 8092 is a follower
    When client A for port 8091 signs in as root
    And client B for port 8092 signs in as root
    Then client A is connected to port 8091
    And client B is connected to port 8091
